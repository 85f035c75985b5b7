"""`flow alerts`."""

from __future__ import annotations

import pytest

from flowapp.accounts.cli.workspace import current_workspace
from flowapp.alerts.services import raise_alert

pytestmark = pytest.mark.django_db


@pytest.fixture
def alert(flow) -> str:
    """The id of an open alert."""
    raise_alert("workers.none", "error", "No worker is running.", "Start one.", workspace=current_workspace())
    [found] = flow("alerts", "list", "--json").json["alerts"]
    return found["id"]


def test_an_alert_is_listed_with_its_next_step(flow, alert):
    shown = flow("alerts", "list").stdout

    assert "No worker is running." in shown
    assert "Start one." in shown


def test_an_acknowledged_alert_stays_in_the_list_and_a_resolved_one_leaves_it(flow, alert):
    assert flow("alerts", "ack", alert, "--json").json["state"] == "acknowledged"
    assert len(flow("alerts", "list", "--json").json["alerts"]) == 1
    assert flow("alerts", "resolve", alert).status == 0
    assert flow("alerts", "list").stdout == "No alerts.\n"
    assert len(flow("alerts", "list", "--all", "--json").json["alerts"]) == 1


def test_the_list_is_narrowed_down(flow, alert):
    def count(*options: str) -> int:
        return len(flow("alerts", "list", "--json", *options).json["alerts"])

    assert count("--kind", "workers.none", "--severity", "error", "--state", "open") == 1
    assert count("--kind", "run.failed") == count("--severity", "warning") == count("--state", "resolved") == 0
    assert flow("alerts", "list", "--kind", "run.flied").status == 64
    assert flow("alerts", "list", "--pipeline", "nowhere").status == 1


def test_the_kinds_are_listed_with_what_resolves_them(flow):
    assert "a worker that sends a heartbeat" in flow("alerts", "kinds").stdout


def test_an_unknown_alert_ends_in_1(flow):
    finished = flow("alerts", "ack", "nonsense", "--json")

    assert (finished.status, finished.json["error"]["code"]) == (1, "alert.unknown")
