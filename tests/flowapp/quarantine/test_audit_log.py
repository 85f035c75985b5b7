"""The audit log: requested rows and changed rows."""

from __future__ import annotations

import pytest

from executors.report import RunReport
from flowapp.quarantine.audit_log import list_audit_log
from flowapp.quarantine.records import note_decision, note_sent
from flowapp.runs.holds import Decider
from flowapp.runs.models import Run, State, Trigger
from flowapp.runs.reports import save_report
from flowapp.runs.services import queue_run
from tests.flowapp.reading import words

pytestmark = pytest.mark.django_db
ANN = Decider("ann")
PURGE = "/w/alices-team/errors/purge/"


def ended(pipeline, action: str, rows: int, counts: dict[str, int], state: str = State.SUCCEEDED) -> Run:
    run = queue_run(pipeline, Trigger.MANUAL, send=False)
    note_decision(pipeline.workspace, pipeline, action, ANN, rows=rows, run=run)
    Run.objects.filter(pk=run.pk).update(state=state, **save_report(run, RunReport(row_counts=counts)))
    return run


def newest(workspace) -> tuple[int | None, ...]:
    line = list_audit_log(workspace, 1)[0]
    return line.requested, line.done, line.not_loaded, line.excluded


def test_a_replay_reports_what_it_loaded_not_loaded_and_excluded(alices, orders):
    ended(orders, "replay", 8, {"fails": 5, "exists": 1, "already": 2})
    assert newest(alices) == (8, 0, 6, 2)


def test_what_a_fix_did_is_known_after_its_run_is_gone(alices, orders):
    ended(orders, "fix", 8, {"fixed": 7, "changed": 1}).delete()
    assert newest(alices) == (8, 7, 0, 1)


@pytest.mark.parametrize("state", [State.QUEUED, State.FAILED])
def test_a_run_that_has_not_done_it_says_its_state_instead(alices, orders, state):
    ended(orders, "replay", 8, {"already": 2}, state)
    assert newest(alices) == (8, None, None, None)
    assert list_audit_log(alices, 1)[0].state == state


def test_the_page_says_what_was_done_and_what_broke_off(as_, alices, orders):
    note_sent(note_decision(alices, orders, "export", ANN, rows=-1), 25, is_whole=False)
    ended(orders, "replay", 8, {"fails": 6, "already": 2})
    page = words(as_("admin").get(PURGE))
    assert "orders 8 0 6 2" in page
    assert "25 entries, then stopped" in page
