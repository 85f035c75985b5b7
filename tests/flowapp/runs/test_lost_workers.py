"""Workers that are killed or paused, as processes: whatever happens to them, the rows are there exactly once."""

from __future__ import annotations

import multiprocessing
import os
import signal
import time
from collections.abc import Callable, Iterator
from multiprocessing import forkserver
from multiprocessing.process import BaseProcess
from pathlib import Path

import pytest

from flowapp.alerts.models import Alert
from flowapp.runs.dispatch import execute_claimed, run_inline
from flowapp.runs.leases import claim_run
from flowapp.runs.load_units.models import LoadUnit
from flowapp.runs.models import Run, State, Trigger
from flowapp.runs.recovery import recover_lost_runs
from flowapp.runs.services import cancel_run, queue_run
from tests.flowapp.runs.table_engine import ROWS, TableEngine
from tests.flowapp.runs.worker_process import work

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.usefixtures("sent")]
Start = Callable[[Run, str, signal.Signals], BaseProcess]


@pytest.fixture(scope="module")
def forks(process_environment: dict[str, str]) -> multiprocessing.context.ForkServerContext:
    """Forks processes from one that has imported all they need."""
    context = multiprocessing.get_context("forkserver")
    # A process has one server for all its tests. That of other tests has another control database.
    forkserver._forkserver._stop()  # type: ignore[attr-defined]  # there is no public name
    context.set_forkserver_preload(["tests.flowapp.runs.worker_process"])
    with pytest.MonkeyPatch.context() as patch:
        for name, value in process_environment.items():
            patch.setenv(name, value)
        forkserver.ensure_running()
    return context


@pytest.fixture
def start_worker(forks: multiprocessing.context.ForkServerContext) -> Iterator[Start]:
    """Return a function that starts a worker process, which receives a signal at a step. All end after the test."""
    started = []

    def start(run: Run, step: str, number: signal.Signals) -> BaseProcess:
        process = forks.Process(target=work, args=(str(run.pk), step, number))
        process.start()
        started.append(process)
        return process

    yield start
    for process in started:
        process.kill()
        process.join()
        process.close()


@pytest.fixture
def kill_worker(start_worker, expire):
    """Return a function that lets a worker die at a step, and its lease expire."""

    def kill(run: Run, step: str) -> None:
        process = start_worker(run, step, signal.SIGKILL)
        process.join(60)
        assert process.exitcode == -signal.SIGKILL
        expire(run)

    return kill


def finish(run: Run) -> Run:
    """Another worker takes the run."""
    claim = claim_run(run.pk, "survivor")
    assert claim
    execute_claimed(claim, TableEngine())
    run.refresh_from_db()
    return run


@pytest.mark.parametrize("step", ["pass", "load", "transaction", "after commit", "finish"])
def test_a_worker_killed_at_any_step_leaves_the_rows_once(pipeline, target, kill_worker, step):
    run = queue_run(pipeline, Trigger.MANUAL)
    kill_worker(run, step)
    assert recover_lost_runs() == 1
    run.refresh_from_db()
    assert (run.state, run.losses) == (State.QUEUED, 1)
    run = finish(run)
    assert (run.state, run.attempt) == (State.SUCCEEDED, 2)
    assert target() == ROWS
    assert recover_lost_runs() == 0


def test_a_run_that_kills_its_workers_is_failed_at_the_second(pipeline, target, kill_worker):
    run = queue_run(pipeline, Trigger.SCHEDULE)
    for _ in range(2):
        kill_worker(run, "pass")
        recover_lost_runs()
    run.refresh_from_db()
    assert (run.state, run.error_code) == (State.FAILED, "worker.lost_twice")
    assert set(Alert.objects.values_list("kind", flat=True)) == {"worker.lost", "run.failed"}
    assert finish(queue_run(pipeline, Trigger.SCHEDULE)).state == State.SUCCEEDED, "the next schedule works"


def test_the_second_loss_fails_no_run_whose_target_has_committed(pipeline, target, kill_worker):
    run = queue_run(pipeline, Trigger.MANUAL)
    kill_worker(run, "pass")
    recover_lost_runs()
    kill_worker(run, "after commit")
    recover_lost_runs()
    assert finish(run).state == State.SUCCEEDED
    assert target() == ROWS


@pytest.mark.parametrize("step", ["load", pytest.param("transaction", marks=pytest.mark.slow)])
def test_a_paused_worker_that_wakes_up_late_writes_nothing(pipeline, target, start_worker, expire, step):
    run = queue_run(pipeline, Trigger.MANUAL)
    paused = start_worker(run, step, signal.SIGSTOP)
    wait_until_stopped(paused)
    expire(run)
    recover_lost_runs()
    run = finish(run)
    os.kill(paused.pid, signal.SIGCONT)
    paused.join(30)
    assert paused.exitcode == 0
    assert target() == ROWS
    run.refresh_from_db()
    assert (run.state, run.attempt) == (State.SUCCEEDED, 2)


def wait_until_stopped(process: BaseProcess) -> None:
    deadline = time.monotonic() + 30
    while Path(f"/proc/{process.pid}/stat").read_text().rpartition(")")[2].split()[0] != "T":
        assert process.is_alive()
        assert time.monotonic() < deadline
        time.sleep(0.05)


def test_cancelling_a_run_of_a_dead_worker_ends_it(pipeline, target, kill_worker):
    run = queue_run(pipeline, Trigger.MANUAL)
    kill_worker(run, "pass")
    cancel_run(run)
    recover_lost_runs()
    run.refresh_from_db()
    assert run.state == State.CANCELLED


def test_cancelling_a_queued_run_whose_dead_worker_committed_keeps_the_load(pipeline, target, kill_worker):
    run = queue_run(pipeline, Trigger.MANUAL)
    kill_worker(run, "after commit")
    recover_lost_runs()
    cancel_run(run)
    run.refresh_from_db()
    assert run.state == State.QUEUED, "it has loaded: what is left is to finish it"
    claim = claim_run(run.pk, "survivor")
    execute_claimed(claim, TableEngine())
    run.refresh_from_db()
    assert run.state == State.SUCCEEDED_WITH_WARNINGS
    assert target() == ROWS


def test_an_inline_run_finishes_what_a_killed_one_left_behind(pipeline, target, kill_worker):
    left = queue_run(pipeline, Trigger.CLI, send=False)
    kill_worker(left, "transaction")
    run = run_inline(pipeline, engine=TableEngine())
    left.refresh_from_db()
    assert (left.state, run.state) == (State.SUCCEEDED, State.SUCCEEDED)
    assert target() == 2 * ROWS


def test_files_of_a_dead_worker_are_free_again(pipeline, target, kill_worker):
    run = queue_run(pipeline, Trigger.MANUAL)
    claim = claim_run(run.pk, "worker")
    LoadUnit.objects.create(
        workspace=pipeline.workspace,
        pipeline=pipeline,
        node="files",
        sha256="b" * 64,
        name="a.csv",
        size=1,
        state="processing",
        run=run,
        changed_at=run.queued_at,
    )
    Run.objects.filter(pk=run.pk).update(lease_until=run.queued_at)
    assert recover_lost_runs() == 1
    assert LoadUnit.objects.get().state == "pending"
    assert not claim.held().exists()
