"""Everything that writes a backfill locks its pipeline first, as each request for a run does: otherwise two of them
could wait for each other."""

from __future__ import annotations

import threading
import time

import pytest
from django.db import connection, connections, transaction

from flowapp.backfills.advancing import advance
from flowapp.backfills.dispatch import fill_slots, start_chunk
from flowapp.backfills.models import Backfill, Chunk, ChunkStatus
from flowapp.backfills.selectors import newest_backfill
from flowapp.backfills.services import Actor, pause, resume, retry_failed, rewind
from flowapp.pipelines.models import Pipeline
from flowapp.runs.dispatch import execute_claimed
from flowapp.runs.leases import claim_run
from flowapp.runs.models import CLAIMABLE, Run, RunKind, Trigger
from flowapp.runs.services import queue_run
from tests.flowapp.backfills.engine import execute, execute_all

pytestmark = [pytest.mark.django_db(transaction=True)]
ANN = Actor("ann@example.org", Trigger.MANUAL)


@pytest.fixture(autouse=True)
def locking():
    if connection.vendor != "postgresql":
        pytest.skip("SQLite has one lock for everything")


def start(pipeline, engine) -> Backfill:
    execute(queue_run(pipeline, Trigger.MANUAL), engine)
    return newest_backfill(pipeline)


def paused(pipeline, engine):
    start(pipeline, engine)
    pause(pipeline, ANN)
    return lambda: resume(pipeline, ANN)


def failed(pipeline, engine):
    engine.failing = {1}
    start(pipeline, engine)
    execute_all(pipeline, engine)
    return lambda: retry_failed(pipeline, ANN)


def loaded(pipeline, engine):
    start(pipeline, engine)
    execute_all(pipeline, engine)
    return lambda: rewind(pipeline, "0", "30", ANN, "corrected")


def running(pipeline, engine):
    start(pipeline, engine)
    return lambda: pause(pipeline, ANN)


def chunk_to_start(pipeline, engine):
    engine.parallelism = 3
    start(pipeline, engine)
    Chunk.objects.filter(ordinal=2).update(status=ChunkStatus.PENDING, slot=None, global_slot=None, run=None)
    return fill_slots


def chunk_to_exchange(pipeline, engine):
    start(pipeline, engine)
    third = Chunk.objects.get(ordinal=3)
    return lambda: start_chunk(third, send=False)


def claimed(run, engine):
    claim = claim_run(run.pk, "worker")
    return lambda: execute_claimed(claim, engine)


def plan_to_store(pipeline, engine):
    return claimed(queue_run(pipeline, Trigger.MANUAL), engine)


def chunk_to_end(pipeline, engine):
    start(pipeline, engine)
    return claimed(Run.objects.filter(kind=RunKind.CHUNK, state__in=CLAIMABLE).first(), engine)


def last_run_to_end(pipeline, engine):
    start(pipeline, engine)
    execute_all(pipeline, engine, most=3)
    return claimed(Run.objects.get(kind=RunKind.FINISH_BACKFILL), engine)


def backfill_to_end(pipeline, engine):
    backfill = start(pipeline, engine)
    Chunk.objects.update(status=ChunkStatus.FAILED, slot=None, global_slot=None)
    return lambda: advance(backfill.pk)


ACTS = (
    paused,
    failed,
    loaded,
    running,
    chunk_to_start,
    chunk_to_exchange,
    plan_to_store,
    chunk_to_end,
    last_run_to_end,
    backfill_to_end,
)


class Act(threading.Thread):
    """Does something at the same time."""

    def __init__(self, function) -> None:
        super().__init__()
        self._function, self._error = function, None
        self.start()

    def run(self) -> None:
        try:
            self._function()
        except Exception as error:  # noqa: BLE001 - `end` returns it
            self._error = error
        finally:
            connections.close_all()

    def end(self) -> Exception | None:
        self.join(20)
        assert not self.is_alive()
        return self._error


def wait_until_blocked(sessions: int) -> None:
    """Wait until so many sessions wait for a lock."""
    waiting = "SELECT count(DISTINCT pid) FROM pg_locks WHERE NOT granted"
    deadline = time.monotonic() + 10
    while time.monotonic() < deadline:
        with connection.cursor() as cursor:
            cursor.execute(waiting)
            if cursor.fetchone()[0] >= sessions:
                return
        time.sleep(0.02)
    raise AssertionError("it did not wait for the pipeline")


def lock_all(*querysets) -> None:
    for queryset in querysets:
        list(queryset.select_for_update(nowait=True, no_key=True).values_list("pk"))


@pytest.mark.parametrize("prepare", ACTS, ids=lambda act: act.__name__)
def test_what_waits_for_the_pipeline_holds_neither_its_backfill_nor_its_chunks(history, engine, prepare):
    function = prepare(history, engine)
    with transaction.atomic():
        lock_all(Pipeline.objects.all())
        act = Act(function)
        wait_until_blocked(1)
        lock_all(Backfill.objects.all(), Chunk.objects.all())
    assert act.end() is None


def test_a_resumption_and_a_requested_run_do_not_wait_for_each_other(history, engine):
    resume_it = paused(history, engine)
    execute_all(history, engine)
    # The request reads the backfill before the resumption commits.
    with transaction.atomic():
        lock_all(Pipeline.objects.all())
        request = Act(lambda: queue_run(history, Trigger.SCHEDULE, kind=RunKind.BACKFILL))
        wait_until_blocked(1)
        resumption = Act(resume_it)
        wait_until_blocked(2)
    assert request.end() is None
    assert resumption.end().code == "run.busy"
