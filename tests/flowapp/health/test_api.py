"""Alerts by the API."""

from __future__ import annotations

import pytest

from flowapp.health.alerts import raise_alert
from flowapp.health.models import Alert

pytestmark = pytest.mark.django_db
HERE = {"X-Flow-Workspace": "alices-team"}


@pytest.fixture
def alert(workspace) -> Alert:
    raise_alert("run.failed", "error", "It broke.", "Mend it.", workspace=workspace)
    return Alert.objects.get()


def test_alerts_are_listed_without_those_that_are_resolved_unless_asked_for(as_, alert):
    client = as_("viewer")
    [told] = client.get("/api/alerts/", headers=HERE).json()["results"]

    assert (told["id"], told["nextStep"], told["state"]) == (str(alert.pk), "Mend it.", "open")
    Alert.objects.update(state="resolved")
    assert client.get("/api/alerts/", headers=HERE).json()["results"] == []
    assert len(client.get("/api/alerts/?state=resolved", headers=HERE).json()["results"]) == 1
    assert client.get("/api/alerts/?state=nonsense", headers=HERE).status_code == 400


def test_an_alert_is_acknowledged_and_resolved_once(as_, alert):
    client = as_("editor")

    def ask(action: str):
        return client.post(f"/api/alerts/{alert.pk}/{action}/", headers=HERE)

    assert ask("ack").json()["state"] == "acknowledged"
    assert (ask("ack").status_code, ask("ack").json()["code"]) == (409, "alert.state")
    assert ask("resolve").json()["state"] == "resolved"
    assert ask("resolve").status_code == 409


def test_alerts_of_other_workspaces_are_unknown(as_, alert):
    client, theirs = as_("stranger"), {"X-Flow-Workspace": "bobs-team"}
    answer = client.post(f"/api/alerts/{alert.pk}/resolve/", headers=theirs)

    assert (answer.status_code, answer.json()["code"]) == (404, "alert.unknown")
    assert client.get("/api/alerts/", headers=theirs).json()["results"] == []
