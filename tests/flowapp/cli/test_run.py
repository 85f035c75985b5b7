"""`flow run` that ends before it reads anything, and the exit status of every outcome."""

from __future__ import annotations

from importlib.resources import files
from urllib.parse import quote

import pytest

from flowapp.accounts.services import ensure_workspace
from flowapp.connections.fields import parse_connection_url
from flowapp.connections.services import add_connection
from flowapp.pipelines.services import save_version
from flowapp.runs.cli.run import ended
from flowapp.runs.models import Run, RunLog, Trigger
from flowapp.runs.services import queue_run

PASSWORD = "P@ss:w/rd%?"
FORMS = (PASSWORD, quote(PASSWORD, safe=""), quote(PASSWORD), "P@ss", "w/rd")
TEXT = files("flowapp.demo").joinpath("airlines.json").read_text()


def save_airlines(address: str):
    """The airlines pipeline over a connection to `address`, with an awkward password."""
    workspace = ensure_workspace("default")
    url = f"postgresql://etl:{quote(PASSWORD, safe='')}@{address}"
    add_connection(workspace, "warehouse", parse_connection_url(url))
    return save_version(workspace, TEXT).pipeline


@pytest.mark.django_db
@pytest.mark.parametrize(
    ("state", "status"),
    [
        ("succeeded", 0),
        ("succeeded_with_warnings", 0),
        ("failed", 1),
        ("loaded_hook_failed", 4),
        ("cancelled", 5),
        ("held", 6),
        ("discarded", 1),
    ],
)
def test_the_exit_status_reports_how_a_run_ended(state, status):
    run = queue_run(save_airlines("db/sales"), Trigger.CLI, send=False)
    run.state = state

    assert ended(run).status == status


@pytest.mark.django_db(transaction=True)
def test_a_target_that_does_not_answer_fails_the_run_and_shows_no_password(flow, caplog):
    save_airlines("127.0.0.1:1/sales")
    reported, shown = flow("run", "airlines", "--json"), flow("run", "airlines")

    assert (reported.status, shown.status) == (1, 1)
    assert (reported.json["state"], reported.json["error"]["code"]) == ("failed", "target.unreachable")
    stored = f"{list(Run.objects.values())} {list(RunLog.objects.values())}"
    everything = f"{reported.stdout}{reported.stderr}{shown.stdout}{shown.stderr}{caplog.text}{stored}"
    assert "127.0.0.1:1" in shown.stdout
    assert [form for form in FORMS if form in everything] == []
