"""Worker and scheduler as the processes that `flow up` starts, with Spark."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from flowapp.processes.models import Heartbeat
from flowapp.runs.models import ENDED, Run, State, Trigger
from flowapp.runs.services import queue_run

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.spark, pytest.mark.slow]
WORKER = ["-m", "celery", "-q", "-A", "flowapp.celery", "worker", "--loglevel", "INFO"]
SCHEDULER = ["-m", "django", "flow_scheduler"]


@pytest.fixture
def files_root(tmp_path, settings):
    settings.FILES_ROOT = tmp_path
    return tmp_path


@pytest.fixture
def start(process_environment, files_root):
    """Return a function that starts a process in its own process group. All end after the test."""
    environment = process_environment | {
        "FLOW_FILES_ROOT": str(files_root),
        "DJANGO_SETTINGS_MODULE": "flowapp.settings",
    }
    started = []

    def call(arguments: list[str]) -> subprocess.Popen:
        process = subprocess.Popen([sys.executable, *arguments], env=environment, start_new_session=True)
        started.append(process)
        return process

    yield call
    for process in started:
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()


def wait_for(condition, seconds):
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, "it did not happen in time"
        time.sleep(0.2)


@pytest.fixture
def put_rows(pipeline, files_root):
    """Return a function that writes a file with this number of rows for the pipeline."""
    folder = files_root / pipeline.workspace.slug / "in"
    folder.mkdir(parents=True)
    return lambda rows: (folder / "a.csv").write_text("id\n" + "\n".join(map(str, range(rows))) + "\n")


def now(run: Run) -> Run:
    run.refresh_from_db()
    return run


def wait_for_end(run: Run) -> Run:
    wait_for(lambda: now(run).state in ENDED, 300)
    return run


def test_a_run_queued_before_anyone_lives_is_run_when_they_do(pipeline, target, put_rows, start, redis_url):
    put_rows(3)
    run = queue_run(pipeline, Trigger.MANUAL, send=False)
    Run.objects.filter(pk=run.pk).update(queued_at=run.queued_at.replace(year=2020))

    scheduler, worker = start(SCHEDULER), start(WORKER)
    assert (wait_for_end(run).state, run.error_message) == (State.SUCCEEDED, "")
    assert target() == 3
    assert set(Heartbeat.objects.values_list("role", flat=True)) >= {"worker", "scheduler"}

    for process in (worker, scheduler):
        process.send_signal(signal.SIGTERM)
        assert process.wait(timeout=30) == 0
    assert not Heartbeat.objects.exists()


def test_flow_run_hands_the_run_to_a_live_worker(pipeline, target, put_rows, start, process_environment, files_root):
    put_rows(3)
    start(WORKER)
    wait_for(lambda: Heartbeat.objects.filter(role="spark").exists(), 300)

    command = [Path(sys.executable).with_name("flow"), "run", pipeline.slug, "--json"]
    environment = process_environment | {"FLOW_FILES_ROOT": str(files_root), "FLOW_WORKSPACE": pipeline.workspace.slug}
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=300, check=False)

    assert (done.returncode, json.loads(done.stdout)["state"]) == (0, "succeeded"), done.stderr
    assert target() == 3
    assert "Spark" not in done.stderr
    assert Run.objects.get().sent_at


def java_of(worker: subprocess.Popen) -> int:
    """The process id of a worker's Spark."""
    found = subprocess.run(["pgrep", "-g", str(worker.pid), "java"], capture_output=True, text=True, check=True)
    return int(found.stdout.split()[0])


STOPS = {
    "was stopped": (lambda worker: worker.send_signal(signal.SIGTERM), os.EX_OK, 0),
    "its Spark killed": (lambda worker: os.kill(java_of(worker), signal.SIGKILL), os.EX_TEMPFAIL, 1),
}


@pytest.mark.parametrize(("stop", "status", "losses"), STOPS.values(), ids=STOPS.keys())
def test_a_worker_that_ends_in_mid_run_leaves_it_to_the_next(
    pipeline, target, put_rows, start, redis_url, stop, status, losses
):
    put_rows(4_000_000)  # so many that the load is not done before the worker hears
    first = start(WORKER)
    run = queue_run(pipeline, Trigger.MANUAL)
    wait_for(lambda: now(run).step == "pass", 300)
    stop(first)
    assert first.wait(timeout=60) == status
    assert (now(run).state, run.losses, run.failures) == (State.QUEUED, losses, 0)

    start(WORKER)
    assert (wait_for_end(run).state, run.attempt) == (State.SUCCEEDED, 2)
    assert target() == 4_000_000
