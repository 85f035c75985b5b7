"""The counts of windows: each counts once, and nothing grows with their number."""

from __future__ import annotations

from typing import Any

import pytest

from executors.api import LoadCommit
from executors.load_record import InputCounts, LoadCounts, LoadedSource, LoadRecord, TableIdentity
from executors.model import RuleCount, SourceState
from executors.postgres_cdc.state import LogState
from flowapp.runs.models import NodeRun, Run, Trigger
from flowapp.runs.models import RuleCount as StoredRule
from flowapp.runs.reports import save_commit, save_report
from flowapp.runs.services import queue_run
from flowapp.streams.counting import report_of
from flowapp.streams.models import Stream, StreamHour

pytestmark = pytest.mark.django_db


@pytest.fixture
def run(mirrored: Any, monkeypatch: pytest.MonkeyPatch) -> Run:
    from flowapp.celery import app

    monkeypatch.setattr(app, "send_task", lambda name, args: None)
    return queue_run(mirrored, Trigger.MANUAL)


def window(run: Run, lsn: int, inserted: int, rejected: int = 0, *, more: bool = False) -> LoadCommit:
    state = LogState(lsn, "7", 1, "flow_x", "flow_x", 16384, 1_700_000_000.0, more)
    rules = (RuleCount("check", "notNull:id", "not_null", "id", "skip", rejected, evaluated=inserted + rejected),)
    return LoadCommit(
        str(run.pk),
        "load",
        1,
        TableIdentity("public", "mirrored", 1),
        counts=LoadCounts(staged=inserted, inserted=inserted, quarantine_rows=rejected),
        record=LoadRecord(
            InputCounts(inserted, inserted + rejected, rows_rejected=rejected),
            rules=rules if rejected else (),
            sources=(LoadedSource("changes", state=SourceState("s", state.to_text())),),
        ),
    )


def test_a_window_that_is_reported_again_counts_once(run):
    for commit in (window(run, 100, 5), window(run, 100, 5), window(run, 200, 3, 2), window(run, 200, 3, 2)):
        save_commit(run, commit)
    hour = StreamHour.objects.get()
    assert (hour.windows, hour.rows, hour.inserted, hour.rejected) == (2, 10, 8, 2)
    assert NodeRun.objects.get(run=run, node="load").rows_inserted == 8
    assert StoredRule.objects.get(run=run).violations == 2
    assert Stream.objects.get().window["inserted"] == 3


def test_the_report_of_a_run_has_the_counts_of_all_windows(run):
    for lsn in range(1, 31):
        save_commit(run, window(run, lsn, 10, 1))
    changes = save_report(run, report_of(run))
    assert (changes["quarantine_rows"], changes["evaluated"], changes["nothing_new"]) == (30, True, False)
    assert (NodeRun.objects.get(run=run).rows_loaded, StoredRule.objects.get(run=run).violations) == (300, 30)
    assert (StreamHour.objects.count(), run.commits.count()) == (1, 1)


def test_a_window_that_has_more_moves_the_time_up_to_which_the_target_is_current(run):
    save_commit(run, window(run, 100, 5, more=True))
    assert Stream.objects.get().current_to.timestamp() == 1_700_000_000
