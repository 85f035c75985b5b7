"""Alerts: a repeated problem is one alert, and each kind has an event that resolves it."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import executors
import flowapp
from flowapp.alerts.kinds import ALERT_KINDS, EVENTS, KINDS
from flowapp.alerts.models import Alert, AlertState
from flowapp.alerts.selectors import get_alert, list_alerts
from flowapp.alerts.services import acknowledge, raise_alert, resolve, resolve_by
from ir.errors import FlowError

pytestmark = pytest.mark.django_db


def trouble(pipeline, message="It broke."):
    raise_alert("run.failed", "error", message, "Look at the run.", pipeline=pipeline)


def test_the_same_trouble_again_raises_the_count(pipeline):
    trouble(pipeline)
    trouble(pipeline, "It broke again.")
    alert = Alert.objects.get()
    assert (alert.count, alert.message) == (2, "It broke again.")


def test_the_same_trouble_of_another_pipeline_is_another_alert(save):
    trouble(save("one").pipeline)
    trouble(save("two").pipeline)
    assert Alert.objects.count() == 2


def test_trouble_after_the_end_opens_a_new_alert(pipeline):
    trouble(pipeline)
    resolve(Alert.objects.get())
    trouble(pipeline)
    assert sorted(Alert.objects.values_list("state", "count")) == [(AlertState.OPEN, 1), (AlertState.RESOLVED, 1)]


def test_an_acknowledged_alert_stays_so_when_it_happens_again(pipeline):
    trouble(pipeline)
    acknowledge(Alert.objects.get())
    trouble(pipeline)
    assert (Alert.objects.get().state, Alert.objects.get().count) == (AlertState.ACKNOWLEDGED, 2)


def test_an_event_resolves_only_what_it_ends(save):
    good, bad = save("good").pipeline, save("bad").pipeline
    trouble(good)
    trouble(bad)
    raise_alert("schedule.missed", "warning", "Late.", "Look.", pipeline=good)
    assert resolve_by("run.succeeded", pipeline_id=good.pk) == 1
    unresolved = Alert.objects.exclude(state=AlertState.RESOLVED)
    assert set(unresolved.values_list("kind", "pipeline__slug")) == {
        ("schedule.missed", "good"),
        ("run.failed", "bad"),
    }


@pytest.mark.parametrize("action", [acknowledge, resolve])
def test_what_is_resolved_cannot_change(pipeline, action):
    trouble(pipeline)
    alert = Alert.objects.get()
    resolve(alert)
    with pytest.raises(FlowError) as refused:
        action(alert)
    assert refused.value.code == "alert.state"


def test_another_workspaces_alert_is_unknown(pipeline):
    from flowapp.accounts.models import Workspace

    trouble(pipeline)
    bobs = Workspace.objects.create(slug="bobs-team")
    assert not list_alerts(bobs).exists()
    with pytest.raises(FlowError) as refused:
        get_alert(bobs, Alert.objects.get().pk)
    assert refused.value.code == "alert.unknown"


def test_an_alert_without_a_workspace_is_refused():
    with pytest.raises(TypeError, match="needs a pipeline or a workspace"):
        raise_alert("workers.none", "error", "No worker.", "Start one.")


def test_a_kind_that_is_not_known_is_refused_with_those_that_are(workspace):
    with pytest.raises(KeyError, match=r"run\.failed"):
        raise_alert("run.flied", "error", "", "", workspace=workspace)


def test_every_kind_says_what_resolves_it():
    assert {kind.resolved_by for kind in KINDS} == set(EVENTS)


def test_every_event_that_resolves_a_kind_happens_somewhere():
    source = "\n".join(path.read_text() for path in Path(flowapp.__path__[0]).rglob("*.py"))
    happens = set(re.findall(r"resolve_by\(\s*\"([a-z._]+)\"", source))
    assert happens == set(EVENTS) - {"person"}


def test_an_alert_remembers_what_ended_it(pipeline, person):
    trouble(pipeline)
    resolve_by("run.succeeded", pipeline_id=pipeline.pk)
    trouble(pipeline)
    resolve(Alert.objects.get(state=AlertState.OPEN), person("editor"))
    assert set(Alert.objects.values_list("resolved_how", "resolved_by__email")) == {
        ("run.succeeded", None),
        ("person", "editor@example.com"),
    }


def test_trouble_of_one_workspace_is_not_ended_by_another(workspace):
    from flowapp.accounts.models import Workspace

    bobs = Workspace.objects.create(slug="bobs-team")
    for team in (workspace, bobs):
        raise_alert("channel.failing", "warning", "m", "n", workspace=team, node="pager")
    assert resolve_by("channel.delivered", workspace_id=bobs.pk, node="pager") == 1
    assert Alert.objects.get(workspace=workspace).state == AlertState.OPEN


def test_every_kind_that_the_engine_raises_is_known():
    source = "\n".join(path.read_text() for path in Path(executors.__path__[0]).rglob("*.py"))
    raised = set(re.findall(r"\.alert\(\s*\"([a-z._]+)\"", source))
    assert raised
    assert raised <= set(ALERT_KINDS)
