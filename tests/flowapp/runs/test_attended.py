"""Runs that a command line waits for: a live worker executes them, and none that dies strands the command."""

from __future__ import annotations

import threading
from collections.abc import Iterator

import pytest
from django.db import connections

from executors.errors import WaitForFiles
from flowapp.clock import from_now
from flowapp.processes.heartbeats import beat
from flowapp.processes.models import Heartbeat
from flowapp.runs import attended
from flowapp.runs.attended import follow_run, preview_attended, run_attended
from flowapp.runs.dispatch import execute_claimed
from flowapp.runs.leases import claim_run
from flowapp.runs.models import Run, State, Trigger
from flowapp.runs.services import queue_run
from tests.flowapp.runs.table_engine import TableEngine

pytestmark = pytest.mark.django_db(transaction=True)


def nothing(state: str, step: str) -> None:
    """Shows nothing."""


def refuse(job, ports):
    raise AssertionError("it is another process that is to run it")


@pytest.fixture
def worker() -> None:
    """A worker that has just written a heartbeat, and that is never heard of again."""
    beat("worker", "worker")


@pytest.fixture
def taking(worker, monkeypatch) -> Iterator[list[str]]:
    """A worker that claims the runs sent to it, with an engine without Spark; yields their ids."""
    from flowapp.celery import app

    threads, ids = [], []

    def work(run_id: str) -> None:
        try:
            claim = claim_run(run_id, "worker")
            assert claim
            execute_claimed(claim, TableEngine())
        finally:
            connections.close_all()

    def send(name, args):
        ids.append(args[0])
        threads.append(threading.Thread(target=work, args=args))
        threads[-1].start()

    monkeypatch.setattr(app, "send_task", send)
    yield ids
    for thread in threads:
        thread.join()


def test_without_a_worker_the_run_is_executed_in_this_process(pipeline, target, sent):
    run = run_attended(pipeline, TableEngine(), nothing)
    assert (run.state, target(), sent) == (State.SUCCEEDED, 3, [])


def test_a_worker_whose_last_heartbeat_is_older_than_30_seconds_is_no_live_one(pipeline, target, sent, worker):
    Heartbeat.objects.update(seen_at=from_now(-31))
    run = run_attended(pipeline, TableEngine(), nothing)
    assert (run.state, sent) == (State.SUCCEEDED, [])


def test_a_live_worker_executes_the_run_and_the_command_follows_it(pipeline, target, taking):
    states = []
    run = run_attended(pipeline, refuse, lambda state, step: states.append(state))
    assert (run.state, target(), taking) == (State.SUCCEEDED, 3, [str(run.pk)])
    assert set(states) <= {"queued", "running"}


def test_a_run_that_somebody_waits_for_does_not_wait_for_files_on_a_worker(pipeline, target, sent, worker, monkeypatch):
    monkeypatch.setattr(attended, "UNTAKEN_SECONDS", 0)
    monkeypatch.setattr(attended, "CHECK_SECONDS", 0)
    waited = []

    def engine(job, ports):
        waited.append(job.waited)
        return TableEngine()(job, ports)

    run_attended(pipeline, engine, nothing)
    assert waited == [None]
    run = queue_run(pipeline, Trigger.CLI, may_wait_for_files=False)
    claim = claim_run(run.pk, "worker")
    execute_claimed(claim, engine)
    assert waited == [None, None]


def test_a_worker_that_dies_at_the_hand_over_leaves_the_run_to_this_process(
    pipeline, target, sent, worker, monkeypatch
):
    monkeypatch.setattr(attended, "CHECK_SECONDS", 0)

    def stale(state: str, step: str) -> None:
        Heartbeat.objects.update(seen_at=from_now(-31))

    run = run_attended(pipeline, TableEngine(), stale)
    assert (run.state, target(), sent) == (State.SUCCEEDED, 3, [str(run.pk)])


def test_a_run_that_no_live_worker_takes_is_executed_in_this_process(pipeline, target, sent, worker, monkeypatch):
    monkeypatch.setattr(attended, "UNTAKEN_SECONDS", 0.5)
    monkeypatch.setattr(attended, "CHECK_SECONDS", 0.1)
    run = run_attended(pipeline, TableEngine(), nothing)
    assert (run.state, target(), len(sent)) == (State.SUCCEEDED, 3, 1)


def test_a_worker_that_dies_in_mid_run_leaves_the_run_to_this_process(
    pipeline, target, sent, worker, monkeypatch, expire
):
    monkeypatch.setattr(attended, "CHECK_SECONDS", 0)
    run = queue_run(pipeline, Trigger.CLI)
    assert claim_run(run.pk, "worker")
    run.refresh_from_db()
    expire(run)
    Heartbeat.objects.update(seen_at=from_now(-31))
    assert follow_run(run, TableEngine(), nothing).state == State.SUCCEEDED
    assert (run.attempt, target()) == (2, 3)


def test_an_interrupt_cancels_a_run_that_a_worker_has(pipeline, target, sent, worker):
    def interrupt(state: str, step: str) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        run_attended(pipeline, refuse, interrupt)
    assert Run.objects.get().state == State.CANCELLED


def test_a_preview_is_executed_by_a_live_worker_too(pipeline, target, taking):
    run = preview_attended(pipeline, refuse, nothing)
    assert taking == [str(run.pk)]


def test_a_queued_run_may_wait_for_files_unless_somebody_waits_for_it(pipeline, target):
    def misses(job, ports):
        assert job.waited == 0
        raise WaitForFiles("source.no_files", "None yet.", minutes=5, node="files")

    run = queue_run(pipeline, Trigger.CLI)
    execute_claimed(claim_run(run.pk, "worker"), misses)
    run.refresh_from_db()
    assert run.state == State.WAITING
