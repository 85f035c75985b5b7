"""Workers load chunks only while nothing else waits for them, but chunks get their turn. The broker is a real one."""

from __future__ import annotations

import time

import pytest
from celery.contrib.testing.worker import start_worker

from executors.report import RunReport
from flowapp.celery import AFTER_OTHERS, app
from flowapp.clock import from_now
from flowapp.node_previews import worker as preview_threads
from flowapp.runs import dispatch, worker
from flowapp.runs.models import Run, RunKind, State, Trigger
from flowapp.runs.queue_watch import resend_queued
from flowapp.runs.services import queue_run
from tests.flowapp.backfills.engine import HistoryEngine, execute

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def waiting(make, redis_url):
    """Three chunks that wait for a worker."""
    app.control.purge()
    pipeline = make(backfill={"parallelism": 3})
    execute(queue_run(pipeline, Trigger.MANUAL), HistoryEngine(chunks=3, parallelism=3))
    return Run.objects.filter(kind=RunKind.CHUNK)


def test_a_load_that_is_requested_after_chunks_is_loaded_before_them(waiting, make, settings, monkeypatch):
    load = queue_run(make("other", backfill=None), Trigger.MANUAL)
    order = []

    def engine_for(run):
        order.append(run.kind)
        return lambda job, ports: RunReport()

    monkeypatch.setattr(dispatch, "engine_for", engine_for)
    settings.WARM_SPARK = False
    with start_worker(app, pool="threads", concurrency=1, perform_ping_check=False, shutdown_timeout=30):
        deadline = time.monotonic() + 20
        while waiting.exclude(state=State.SUCCEEDED).exists() and time.monotonic() < deadline:
            time.sleep(0.05)
    worker.stop()
    preview_threads.stop()
    assert order[:4] == [load.kind, *[RunKind.CHUNK] * 3]


@pytest.fixture
def priorities(waiting, monkeypatch):
    """The priorities of messages by run, as they are sent again because no worker has taken the runs."""
    found = {}
    monkeypatch.setattr(app, "send_task", lambda name, args, priority=0: found.update({args[0]: priority}))
    Run.objects.update(sent_at=from_now(-60))
    return found


def test_the_chunk_that_has_waited_longest_gets_its_turn_if_others_keep_workers_busy(waiting, priorities):
    resend_queued(None)
    first, *others = waiting.order_by("queued_at").values_list("pk", flat=True)
    assert priorities == {str(first): 0, **{str(key): AFTER_OTHERS for key in others}}


def test_no_chunk_gets_ahead_while_one_is_running(waiting, priorities):
    Run.objects.filter(pk=waiting.first().pk).update(state=State.RUNNING)
    resend_queued(None)
    assert list(priorities.values()) == [AFTER_OTHERS] * 2
