"""The state of a failed run and its alert are written in one transaction."""

from __future__ import annotations

import pytest

from executors.errors import Terminal
from flowapp.alerts.models import Alert
from flowapp.runs import ends, finalizing, holds
from flowapp.runs.dispatch import execute_claimed
from flowapp.runs.leases import claim_run
from flowapp.runs.models import State, Trigger
from flowapp.runs.services import queue_run
from tests.flowapp.runs.table_engine import TableEngine
from tests.flowapp.runs.test_attempts import raising
from tests.flowapp.runs.test_holds import Engine

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.usefixtures("sent")]

BAD = TableEngine(at={"pass": raising(Terminal("rows.bad", "Bad."))})


def die(*args: object, **more: object) -> None:
    raise SystemExit


@pytest.mark.parametrize(("module", "engine"), [(ends, BAD), (holds, Engine())], ids=["failed", "held"])
def test_a_run_has_no_state_that_cannot_be_reported(pipeline, target, monkeypatch, module, engine):
    monkeypatch.setattr(module, "raise_alert", die)
    run = queue_run(pipeline, Trigger.MANUAL)
    with pytest.raises(SystemExit):
        execute_claimed(claim_run(run.pk, "worker"), engine)
    run.refresh_from_db()
    assert run.state == State.RUNNING


def test_a_failed_run_is_reported_before_its_target_is_cleaned_up(pipeline, target, monkeypatch):
    monkeypatch.setattr(finalizing, "drop_approved", die)
    with pytest.raises(SystemExit):
        execute_claimed(claim_run(queue_run(pipeline, Trigger.MANUAL).pk, "worker"), BAD)
    assert Alert.objects.get().kind == "run.failed"
