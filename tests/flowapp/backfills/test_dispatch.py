"""Which chunks start: limits that hold for any number of schedulers, and turns that are fair."""

from __future__ import annotations

from collections import Counter

import pytest

from flowapp.alerts.models import Alert
from flowapp.backfills.advancing import advance, advance_all
from flowapp.backfills.dispatch import fill_slots, start_chunk
from flowapp.backfills.models import Backfill, Chunk, ChunkStatus
from flowapp.backfills.selectors import newest_backfill
from flowapp.clock import from_now
from flowapp.pipelines.services import set_enabled
from flowapp.runs.models import CLAIMABLE, Run, RunKind, State, Trigger
from flowapp.runs.recovery import recover_lost_runs
from flowapp.runs.services import queue_run
from tests.flowapp.backfills.engine import HistoryEngine, execute
from tests.flowapp.together import at_once

pytestmark = pytest.mark.django_db(transaction=True)


def start(pipeline, engine) -> Backfill:
    execute(queue_run(pipeline, Trigger.MANUAL), engine)
    return newest_backfill(pipeline)


def running() -> Counter[str]:
    return Counter(Chunk.objects.filter(status=ChunkStatus.RUNNING).values_list("pipeline__slug", flat=True))


def test_a_pipeline_has_at_most_its_number_of_parallel_chunks(history, engine):
    engine.chunks, engine.parallelism = 5, 3
    start(history, engine)
    assert running() == {"history": 3}
    assert fill_slots() == 0
    assert set(Chunk.objects.exclude(slot=None).values_list("slot", flat=True)) == {0, 1, 2}


def test_all_pipelines_together_have_at_most_the_limit_of_the_installation(make, engine, settings):
    settings.MAX_PARALLEL_CHUNKS = 3
    for slug in ("a", "b"):
        start(make(slug), engine)
    assert sum(running().values()) == 3
    assert set(Chunk.objects.exclude(global_slot=None).values_list("global_slot", flat=True)) == {0, 1, 2}


def test_schedulers_that_dispatch_at_once_exceed_no_limit(make, engine, settings):
    settings.MAX_PARALLEL_CHUNKS = 0
    engine.chunks = 6
    for slug in ("a", "b"):
        start(make(slug), engine)
    settings.MAX_PARALLEL_CHUNKS = 3
    results = at_once(*[fill_slots] * 4)
    assert not [result for result in results if isinstance(result, Exception)]
    assert sum(results) == sum(running().values()) == 3
    assert Run.objects.filter(kind=RunKind.CHUNK).count() == 3


@pytest.mark.slow
def test_twenty_pipelines_share_the_limit_fairly(make, sent, settings):
    settings.MAX_PARALLEL_CHUNKS = 0
    engine = HistoryEngine(chunks=4, parallelism=4)
    slugs = [f"p{n:02}" for n in range(20)]
    for slug in slugs:
        start(make(slug), engine)
    settings.MAX_PARALLEL_CHUNKS = 5
    fill_slots()
    assert set(running().values()) == {1}
    done: Counter[str] = Counter()
    for _ in range(40):
        run = Run.objects.filter(kind=RunKind.CHUNK, state__in=CLAIMABLE).order_by("queued_at").first()
        execute(run, engine)
        done[run.pipeline.slug] += 1
        assert sum(running().values()) == 5
    assert {done[slug] for slug in slugs} == {2}


def test_a_disabled_pipeline_starts_no_chunks_until_it_is_enabled(history, engine):
    start(history, engine)
    set_enabled(history, False)
    for run in Run.objects.filter(kind=RunKind.CHUNK):
        execute(run, engine)
    assert running() == {}
    set_enabled(history, True)
    advance_all(None)
    assert running() == {"history": 1}


def test_the_last_run_is_queued_once_however_many_see_the_last_chunk_end(history, engine):
    engine.chunks = 1
    backfill = start(history, engine)
    Run.objects.filter(kind=RunKind.CHUNK).update(state=State.SUCCEEDED)
    Chunk.objects.update(status=ChunkStatus.DONE, slot=None, global_slot=None)
    at_once(*[lambda: advance(backfill.pk)] * 4)
    assert Run.objects.filter(kind=RunKind.FINISH_BACKFILL).count() == 1


def test_a_chunk_whose_worker_is_lost_is_loaded_by_another_one(history, engine):
    start(history, engine)
    chunk = Chunk.objects.get(ordinal=1)
    from flowapp.runs.leases import claim_run

    assert claim_run(chunk.run_id, "lost")
    Run.objects.filter(pk=chunk.run_id).update(lease_until=from_now(-1))
    assert recover_lost_runs() == 1
    execute(Run.objects.get(pk=chunk.run_id), engine)
    chunk.refresh_from_db()
    assert (chunk.status, chunk.attempts, chunk.winning_attempt) == (ChunkStatus.DONE, 2, "worker/attempt-2")


def test_a_certain_chunk_can_be_started_if_it_is_pending_and_a_slot_is_free(history, engine, settings):
    engine.parallelism = 3
    settings.MAX_PARALLEL_CHUNKS = 0
    start(history, engine)
    third = Chunk.objects.get(ordinal=3)
    assert start_chunk(third, send=False) is None
    settings.MAX_PARALLEL_CHUNKS = 8
    run = start_chunk(third, send=False)
    assert (run.kind, run.sent_at) == (RunKind.CHUNK, None)
    assert start_chunk(third, send=False) is None


def test_a_certain_chunk_takes_the_place_of_one_that_no_process_has_begun(history, engine):
    start(history, engine)
    third, second = Chunk.objects.get(ordinal=3), Chunk.objects.get(ordinal=2)
    run = start_chunk(third, send=False)
    second.refresh_from_db()
    assert (second.status, running()) == (ChunkStatus.PENDING, {"history": 2})
    execute(run, engine)
    assert engine.jobs[-1].chunk.chunk.ordinal == 3
    second.refresh_from_db()
    assert second.status == ChunkStatus.RUNNING


def test_a_backfill_killed_at_chunk_247_resumes_there(make, engine, settings):
    engine.chunks, engine.parallelism = 312, 1
    pipeline = make(backfill={"window": "30d"})
    backfill = start(pipeline, engine)
    done = backfill.chunks.filter(ordinal__lt=247)
    running_run = Run.objects.get(kind=RunKind.CHUNK)
    done.update(status=ChunkStatus.DONE, slot=None, global_slot=None, run=None)
    backfill.chunks.filter(ordinal=247).update(status=ChunkStatus.RUNNING, slot=0, global_slot=0, run=running_run)
    engine.jobs = []
    from flowapp.runs.leases import claim_run

    assert claim_run(running_run.pk, "killed")
    Run.objects.filter(pk=running_run.pk).update(lease_until=from_now(-1))
    recover_lost_runs()
    for _ in range(3):
        execute(Run.objects.filter(kind=RunKind.CHUNK, state__in=CLAIMABLE).get(), engine)
    assert [job.chunk.chunk.ordinal for job in engine.jobs] == [247, 248, 249]


def test_parallel_chunks_share_the_rows_per_second(make, engine):
    limited = {"window": "30d", "parallelism": 2, "destinationWritesPerSec": 1000}
    run = execute(queue_run(make(backfill=limited), Trigger.MANUAL), engine)
    budgets = []

    def note(job, ports):
        budgets.append(ports.writes and ports.writes.rows_per_second)
        return engine(job, ports)

    execute(Run.objects.filter(parent=run, kind=RunKind.CHUNK).first(), note)
    assert budgets == [500]


def test_an_error_of_the_database_beside_the_slots_is_not_taken_for_a_full_slot(history, engine, monkeypatch):
    from django.db import IntegrityError

    from flowapp.backfills import dispatch

    def refuse(*_, **__):
        raise IntegrityError("a row of runs is not as it must be")

    engine.parallelism = 3
    start(history, engine)
    Chunk.objects.update(status=ChunkStatus.PENDING, slot=None, global_slot=None, run=None)
    monkeypatch.setattr(dispatch, "queue_child", refuse)
    assert fill_slots() == 0
    assert running() == {}
    assert "IntegrityError" in Alert.objects.get(kind="pipeline.task_failed").message
