"""Alerts by the API."""

from __future__ import annotations

import pytest

from flowapp.alerts.models import Alert
from flowapp.alerts.services import raise_alert

pytestmark = pytest.mark.django_db
HERE = {"X-Flow-Workspace": "alices-team"}


@pytest.fixture
def alert(workspace) -> Alert:
    raise_alert("run.failed", "error", "It broke.", "Fix it.", workspace=workspace)
    return Alert.objects.get()


def test_resolved_alerts_are_listed_only_on_request(as_, alert):
    client = as_("viewer")
    [reported] = client.get("/api/alerts/", headers=HERE).json()["results"]

    assert (reported["id"], reported["nextStep"], reported["state"]) == (str(alert.pk), "Fix it.", "open")
    Alert.objects.update(state="resolved")
    assert client.get("/api/alerts/", headers=HERE).json()["results"] == []
    assert len(client.get("/api/alerts/?state=resolved", headers=HERE).json()["results"]) == 1
    assert client.get("/api/alerts/?state=nonsense", headers=HERE).status_code == 400


def test_alerts_are_narrowed_down(as_, pipeline):
    raise_alert("run.failed", "error", "m", "n", pipeline=pipeline)
    raise_alert("schedule.missed", "warning", "m", "n", pipeline=pipeline)
    raise_alert("workers.none", "error", "m", "n", workspace=pipeline.workspace)
    client = as_("viewer")

    def kinds(query: str) -> list[str]:
        results = client.get(f"/api/alerts/?{query}", headers=HERE).json()["results"]
        return sorted(alert["kind"] for alert in results)

    assert kinds("kind=run.failed") == ["run.failed"]
    assert kinds("severity=error") == ["run.failed", "workers.none"]
    assert kinds("pipeline=numbers") == ["run.failed", "schedule.missed"]
    assert kinds("pipeline=numbers&severity=warning&state=open") == ["schedule.missed"]
    assert client.get("/api/alerts/?kind=run.flied", headers=HERE).status_code == 400
    assert client.get("/api/alerts/?pipeline=others", headers=HERE).status_code == 404


def test_the_kinds_say_what_resolves_them(as_, workspace):
    reported = as_("viewer").get("/api/alerts/kinds/", headers=HERE).json()["results"]
    assert {
        "kind": "workers.none",
        "title": "No worker is running",
        "resolvedBy": "a worker that sends a heartbeat",
        "sentByChannels": True,
    } in reported


def test_an_alert_is_acknowledged_and_resolved_once(as_, alert):
    client = as_("editor")

    def ask(action: str):
        return client.post(f"/api/alerts/{alert.pk}/{action}/", headers=HERE)

    assert ask("ack").json()["state"] == "acknowledged"
    assert (ask("ack").status_code, ask("ack").json()["code"]) == (409, "alert.state")
    resolved = ask("resolve").json()
    assert (resolved["state"], resolved["resolved"]["how"]) == ("resolved", "person")
    assert resolved["resolved"]["by"] == resolved["acknowledged"]["by"] == "editor@example.com"
    assert ask("resolve").status_code == 409


def test_alerts_of_other_workspaces_are_unknown(as_, alert):
    client, theirs = as_("stranger"), {"X-Flow-Workspace": "bobs-team"}
    answer = client.post(f"/api/alerts/{alert.pk}/resolve/", headers=theirs)

    assert (answer.status_code, answer.json()["code"]) == (404, "alert.unknown")
    assert client.get("/api/alerts/", headers=theirs).json()["results"] == []
