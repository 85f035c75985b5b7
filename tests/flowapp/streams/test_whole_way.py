"""Streams with the real engine: a source with a logical log, Spark, and a target."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from typing import Any

import pytest
from django.db import connections

from flowapp.alerts.models import Alert
from flowapp.clock import from_now
from flowapp.runs.dispatch import execute_claimed
from flowapp.runs.leases import claim_run, interrupt_all
from flowapp.runs.models import NodeRun, Run, RunKind, RunLog, State, Trigger
from flowapp.runs.recovery import recover_lost_runs
from flowapp.runs.services import queue_run
from flowapp.streams.models import Stream, StreamHour, StreamState
from flowapp.streams.services import pause_stream, resnapshot, resume_stream, start_streams
from ir.errors import FlowError
from tests.databases import connect_to

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.spark, pytest.mark.usefixtures("sent")]


DROP_SLOT = "select pg_drop_replication_slot(slot_name) from pg_replication_slots where database = current_database()"


@pytest.fixture
def sent(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    from flowapp.celery import app

    names: list[str] = []
    monkeypatch.setattr(app, "send_task", lambda name, args: names.append(name))
    return names


class Worker(threading.Thread):
    """Executes one attempt of a run, as a worker does."""

    def __init__(self, run: Run) -> None:
        super().__init__(daemon=True)
        self.run_id = run.pk
        self.start()

    def run(self) -> None:
        try:
            claim = claim_run(self.run_id, f"worker {time.monotonic()}")
            assert claim
            execute_claimed(claim)
        finally:
            connections.close_all()


def wait_for(condition: Callable[[], object], seconds: float = 240) -> None:
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, list(Run.objects.values_list("state", "step", "error_message"))
        time.sleep(0.1)


def has(rows: Any, *expected: tuple[int, str]) -> Callable[[], bool]:
    def condition() -> bool:
        try:
            return rows() == list(expected)
        except Exception:  # noqa: BLE001 - the table does not exist yet
            return False

    return condition


def test_a_stream_loads_changes_until_it_is_paused(followed, source, rows):
    run = queue_run(followed, Trigger.MANUAL)
    worker = Worker(run)
    wait_for(has(rows, (1, "a"), (2, "b"), (3, "c")))
    with connect_to(source) as connection:
        connection.execute("delete from s where id = 2")
    wait_for(has(rows, (1, "a"), (3, "c")))
    wait_for(lambda: StreamHour.objects.filter(deleted=1))
    pause_stream(Stream.objects.get(), "alice", "maintenance")
    worker.join(60)
    run.refresh_from_db()
    assert (run.state, run.rows_loaded, Stream.objects.get().state) == (State.SUCCEEDED, 3, StreamState.PAUSED)


@pytest.mark.slow
def test_a_stream_follows_its_source_is_handed_over_paused_and_loaded_again(followed, source, rows, sent):
    run = queue_run(followed, Trigger.MANUAL)
    assert (run.kind, sent) == (RunKind.STREAM, ["flowapp.runs.tasks.stream"])
    stream = Stream.objects.get()
    assert stream.state == StreamState.RUNNING
    first = Worker(run)
    wait_for(has(rows, (1, "a"), (2, "b"), (3, "c")))
    with connect_to(source) as connection:
        connection.execute("update s set name = 'x' where id = 1")
        connection.execute("delete from s where id = 2")
        wait_for(has(rows, (1, "x"), (3, "c")))
        with pytest.raises(FlowError, match="running already"):
            queue_run(followed, Trigger.MANUAL)

        # The worker is stopped for a deployment: another one goes on.
        interrupt_all()
        first.join(60)
        run.refresh_from_db()
        assert (run.state, run.attempt, run.failures, run.losses) == (State.QUEUED, 1, 0, 0)
        connection.execute("insert into s values (4, 'd')")
        second = Worker(run)
        wait_for(has(rows, (1, "x"), (3, "c"), (4, "d")))

        # Its lease expires, as if its machine had died: it must not load any more, and a third one goes on.
        Run.objects.filter(pk=run.pk).update(lease_until=from_now(-1))
        recover_lost_runs()
        second.join(60)
        run.refresh_from_db()
        assert (run.state, run.losses) == (State.QUEUED, 1)
        third = Worker(run)
        connection.execute("insert into s values (5, 'e')")
        wait_for(has(rows, (1, "x"), (3, "c"), (4, "d"), (5, "e")))
        wait_for(lambda: Run.objects.get(pk=run.pk).losses == 0)

        pause_stream(Stream.objects.get(), "alice", "maintenance")
        third.join(60)
        run.refresh_from_db()
        assert (run.state, start_streams()) == (State.SUCCEEDED, 0)
        assert (run.rows_loaded, run.rows_rejected) == (6, 0)
        hours = StreamHour.objects.all()
        assert sum(hour.windows for hour in hours) >= 4
        assert (sum(h.inserted for h in hours), sum(h.updated for h in hours), sum(h.deleted for h in hours)) == (
            5,
            1,
            1,
        )
        assert NodeRun.objects.filter(run=run, kind="target").get().rows_deleted == 1
        assert RunLog.objects.filter(run=run, level="info").count() == 0

        connection.execute("insert into s values (6, 'f')")
        resumed = resume_stream(Stream.objects.get(), "alice")
        fourth = Worker(resumed)
        wait_for(has(rows, (1, "x"), (3, "c"), (4, "d"), (5, "e"), (6, "f")))

        # A new snapshot replaces what somebody has changed in the target.
        again = resnapshot(Stream.objects.get(), "alice", "the target was changed", Trigger.MANUAL)
        fourth.join(60)
        fifth = Worker(again)
        connection.execute("delete from s where id > 4")
        wait_for(has(rows, (1, "x"), (3, "c"), (4, "d")))
        wait_for(lambda: Stream.objects.get().current_to)

        # The slot is gone: the stream stops with an alert, and is not started again.
        interrupt_all()
        fifth.join(60)
        connection.execute(DROP_SLOT)
    Worker(again).join(120)
    again.refresh_from_db()
    assert (again.state, again.error_code) == (State.FAILED, "cdc.slot_missing")
    stream = Stream.objects.get()
    assert (stream.state, stream.code, start_streams()) == (StreamState.STOPPED, "cdc.slot_missing", 0)
    assert list(Alert.objects.filter(state="open").values_list("kind", flat=True)) == ["stream.stopped"]
