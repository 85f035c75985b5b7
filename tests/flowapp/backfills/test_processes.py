"""Backfills with several processes: workers that are killed, and a rate that all of them share."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import time

import pytest
from psycopg import sql

from flowapp.backfills.advancing import advance_all
from flowapp.backfills.models import Chunk, ChunkStatus
from flowapp.backfills.phases import Phase
from flowapp.backfills.selectors import newest_backfill
from flowapp.backfills.services import Actor, retry_failed
from flowapp.runs.models import Run, RunKind, State, Trigger
from flowapp.runs.recovery import recover_lost_runs
from flowapp.runs.services import queue_run
from tests.databases import connect_to
from tests.flowapp.backfills.chunk_worker import LEASE_SECONDS
from tests.flowapp.backfills.engine import HistoryEngine, execute

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.slow]
CHUNKS, VALUES = 1000, 30
WORKER = ["-m", "tests.flowapp.backfills.chunk_worker"]
TAKE = """
import sys, time, django
django.setup()
from flowapp.backfills.rates import SharedRate
from ir.backfill import Rate
class Never:
    def check(self): return None
    def on_cancel(self, interrupt): return None
budget, begins, taken = SharedRate("minute", Rate(600, 60), Never()), float(sys.argv[1]), 0
ends = begins + 60
time.sleep(begins - time.monotonic())
while True:
    budget.take()
    if time.monotonic() > ends: break
    taken += 1
print(taken)
"""


@pytest.fixture
def start(process_environment):
    """Return a function that starts a Python process in its own group. All end after the test."""
    started = []

    def call(arguments, **more):
        environment = process_environment | {"DJANGO_SETTINGS_MODULE": "flowapp.settings"}
        command = [sys.executable, *arguments]
        process = subprocess.Popen(command, env=environment, start_new_session=True, text=True, **more)
        started.append(process)
        return process

    yield call
    for process in started:
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()


def test_a_thousand_chunks_over_four_workers_that_are_killed_at_random_load_every_row_once(
    make, start, warehouse, schema, settings
):
    settings.LEASE_SECONDS, settings.MAX_PARALLEL_CHUNKS = LEASE_SECONDS, 8
    pipeline = make(backfill={"parallelism": 6}, errorHandling={"retry": {"initialSeconds": 1}})
    with connect_to(warehouse) as connection:
        table = sql.Identifier(schema, "loaded")
        connection.execute(sql.SQL("CREATE TABLE {} (id integer)").format(table))
        connection.commit()
        execute(queue_run(pipeline, Trigger.MANUAL), HistoryEngine(chunks=CHUNKS, parallelism=6))
        kills = _load(pipeline, [start(WORKER) for _ in range(4)], start)
        count = sql.SQL("SELECT count(*), count(DISTINCT id), min(id), max(id) FROM {}").format(table)
        assert connection.execute(count).fetchone() == (CHUNKS * VALUES, CHUNKS * VALUES, 0, CHUNKS * VALUES - 1)
    assert kills > 5
    assert set(newest_backfill(pipeline).chunks.values_list("status", flat=True)) == {ChunkStatus.DONE}
    parent = Run.objects.get(kind=RunKind.BACKFILL, state=State.SUCCEEDED)
    assert sum(run.rows_loaded or 0 for run in Run.objects.filter(kind=RunKind.CHUNK)) >= parent.rows_loaded
    assert not Chunk.objects.exclude(slot=None, global_slot=None).exists()


def _load(pipeline, workers, start) -> int:
    """Kill a worker every few seconds until the history is loaded; return how many were killed."""
    chance, kills, deadline = random.Random(7), 0, time.monotonic() + 2400
    while newest_backfill(pipeline).phase != Phase.STREAMING:
        assert time.monotonic() < deadline, "it did not end in time"
        time.sleep(chance.uniform(3.0, 8.0))
        victim = chance.randrange(len(workers))
        os.killpg(workers[victim].pid, signal.SIGKILL)
        workers[victim].wait()
        workers[victim] = start(WORKER)
        kills += 1
        recover_lost_runs()
        advance_all(None)
        backfill = newest_backfill(pipeline)
        if backfill.run.state == State.PARTIALLY_LOADED:  # a worker of the same chunk was killed twice
            retry_failed(pipeline, Actor("test", Trigger.MANUAL))
    return kills


def test_four_processes_share_a_rate_within_two_percent_over_a_minute(start, redis_url):
    begins = str(time.monotonic() + 30)  # all of them have started by then; their clocks are the same
    processes = [start(["-c", TAKE, begins], stdout=subprocess.PIPE) for _ in range(4)]
    taken = sum(int(process.communicate(timeout=150)[0]) for process in processes)
    assert abs(taken - 600) <= 12, taken
