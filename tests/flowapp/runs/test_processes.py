"""Worker and scheduler as the processes that `flow up` starts, with Spark."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time

import pytest

from flowapp.health.models import Heartbeat
from flowapp.runs.models import Run, State, Trigger
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
    """Starts a process with its children in a group of their own; all are gone after the test."""
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


def test_a_run_queued_before_anyone_lives_is_run_when_they_do(pipeline, target, files_root, start, redis_url):
    folder = files_root / pipeline.workspace.slug / "in"
    folder.mkdir(parents=True)
    (folder / "a.csv").write_text("id\n1\n2\n3\n")
    run = queue_run(pipeline, Trigger.MANUAL, send=False)
    Run.objects.filter(pk=run.pk).update(queued_at=run.queued_at.replace(year=2020))

    scheduler, worker = start(SCHEDULER), start(WORKER)
    wait_for(lambda: Run.objects.get(pk=run.pk).state in (State.SUCCEEDED, State.FAILED), 180)
    run.refresh_from_db()
    assert (run.state, run.error_message) == (State.SUCCEEDED, "")
    assert target() == 3
    assert set(Heartbeat.objects.values_list("role", flat=True)) == {"worker", "scheduler"}

    for process in (worker, scheduler):
        process.send_signal(signal.SIGTERM)
        assert process.wait(timeout=30) == 0
    assert not Heartbeat.objects.exists()
