"""Schedules of pipelines whose history is not loaded start chunks, never a second load."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from flowapp.backfills.models import Backfill, Chunk, ChunkStatus
from flowapp.backfills.phases import Phase
from flowapp.backfills.selectors import newest_backfill
from flowapp.pipelines.models import Pipeline
from flowapp.runs.models import Run, RunKind, State, Trigger
from flowapp.runs.schedules import fire_due
from flowapp.runs.services import cancel_run, queue_run
from tests.flowapp.backfills.engine import execute, execute_all

pytestmark = pytest.mark.django_db(transaction=True)
NOON = datetime(2025, 6, 1, 12, 0, tzinfo=UTC)
HOURLY = {"kind": "every", "interval": "1h"}


@pytest.fixture
def hourly(make, sent):
    pipeline = make(schedule=HOURLY)
    Pipeline.objects.update(next_fire_at=NOON)
    return pipeline


@pytest.fixture
def limited(make, sent):
    """A pipeline with three parallel chunks, whose schedule starts two at a time."""
    pipeline = make(schedule=HOURLY, backfill={"parallelism": 3, "maxChunksPerTick": 2})
    Pipeline.objects.update(next_fire_at=NOON)
    return pipeline


def count(status: ChunkStatus) -> int:
    return Chunk.objects.filter(status=status).count()


def test_the_first_time_plans_the_backfill(hourly, engine):
    assert fire_due(NOON) == 1
    run = Run.objects.get()
    assert (run.kind, run.trigger) == (RunKind.BACKFILL, Trigger.SCHEDULE)
    hourly.refresh_from_db()
    assert hourly.next_fire_at == NOON + timedelta(hours=1)


def test_later_times_start_no_other_run_of_the_pipeline(hourly, engine):
    fire_due(NOON)
    execute(Run.objects.get(), engine)
    fire_due(NOON + timedelta(hours=1))
    assert Run.counted.count() == 1
    hourly.refresh_from_db()
    assert hourly.next_fire_at == NOON + timedelta(hours=2)


def test_once_the_history_is_loaded_the_schedule_loads_what_is_new(hourly, engine):
    fire_due(NOON)
    execute_all(hourly, engine)
    assert newest_backfill(hourly).phase == Phase.STREAMING
    fire_due(NOON + timedelta(hours=1))
    assert Run.counted.order_by("number").last().kind == RunKind.LOAD


def test_each_time_starts_as_many_chunks_as_the_document_says(limited, engine):
    engine.chunks, engine.parallelism = 7, 3
    fire_due(NOON)
    execute(Run.objects.get(), engine)
    assert count(ChunkStatus.RUNNING) == 2
    execute_all(limited, engine)
    assert (count(ChunkStatus.DONE), count(ChunkStatus.RUNNING)) == (2, 0)
    fire_due(NOON + timedelta(hours=1))
    execute_all(limited, engine)
    assert (count(ChunkStatus.DONE), count(ChunkStatus.RUNNING)) == (4, 0)


def test_a_time_at_which_all_slots_are_taken_starts_nothing(limited, engine):
    engine.chunks, engine.parallelism = 7, 2
    fire_due(NOON)
    execute(Run.objects.get(), engine)
    fire_due(NOON + timedelta(hours=1))
    assert count(ChunkStatus.RUNNING) == 2


def test_a_paused_backfill_waits_for_a_person_and_not_for_the_schedule(hourly, engine):
    fire_due(NOON)
    execute(Run.objects.get(), engine)
    cancel_run(Run.counted.get())
    fire_due(NOON + timedelta(hours=1))
    assert Run.counted.get().state == State.CANCELLED


def test_failed_chunks_wait_for_a_person_too(hourly, engine):
    engine.failing = {1}
    fire_due(NOON)
    execute_all(hourly, engine)
    fire_due(NOON + timedelta(hours=1))
    assert Run.counted.get().state == State.PARTIALLY_LOADED


def test_a_plan_that_failed_is_made_again_at_the_next_time(hourly, engine):
    from executors.errors import Terminal

    engine.failure = Terminal("source.unreadable", "The source cannot be read.")
    fire_due(NOON)
    execute(Run.objects.get(), engine)
    fire_due(NOON + timedelta(hours=1))
    assert list(Run.counted.order_by("number").values_list("kind", "state")) == [
        (RunKind.BACKFILL, State.FAILED),
        (RunKind.BACKFILL, State.QUEUED),
    ]


def test_a_document_without_a_backfill_any_more_loads_as_usual(hourly, make, engine):
    fire_due(NOON)
    execute(Run.objects.get(), engine)
    cancel_run(Run.counted.get())
    make(schedule=HOURLY, backfill=None)
    fire_due(NOON + timedelta(hours=1))
    assert Run.counted.order_by("number").last().kind == RunKind.LOAD


def test_the_number_of_queries_does_not_grow_with_the_pipelines(make, sent, engine, django_assert_max_num_queries):
    for slug in ("a", "b", "c"):
        queue_run(pipeline := make(slug, schedule=HOURLY), Trigger.MANUAL)
        execute_all(pipeline, engine)
    assert Backfill.objects.filter(phase=Phase.STREAMING).count() == 3
    Pipeline.objects.update(next_fire_at=NOON)
    with django_assert_max_num_queries(16):
        assert fire_due(NOON) == 3
