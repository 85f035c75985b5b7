"""A real broker and a real worker with its thread pool, in this process; only Spark is left out."""

from __future__ import annotations

import logging
import os
import threading
import time

import pytest
from celery.contrib.testing.worker import start_worker
from celery.worker import state as worker_state

from executors.errors import Transient
from flowapp.celery import RUN_TASK, app
from flowapp.node_previews import worker as preview_threads
from flowapp.processes.models import Heartbeat
from flowapp.runs import broker, dispatch, leases, tasks
from flowapp.runs import worker as worker_process
from flowapp.runs.leases import claim_run
from flowapp.runs.models import Run, State, Trigger
from flowapp.runs.services import queue_run
from tests.flowapp.runs.table_engine import ROWS, TableEngine

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def worker(redis_url, settings, transactional_db):
    """A worker that takes runs from the broker."""
    settings.WARM_SPARK = False
    assert app.conf.broker_url == redis_url
    app.control.purge()
    with start_worker(app, pool="threads", concurrency=2, perform_ping_check=False, shutdown_timeout=30):
        yield
    worker_process.stop()
    preview_threads.stop()


def wait_for(condition, seconds=20.0):
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, "it did not happen in time"
        time.sleep(0.05)


def state_of(run: Run) -> str:
    return Run.objects.values_list("state", flat=True).get(pk=run.pk)


def test_a_queued_run_is_taken_by_a_worker_and_loads(worker, pipeline, target, monkeypatch):
    monkeypatch.setattr(dispatch, "engine_for", lambda run: TableEngine())
    run = queue_run(pipeline, Trigger.MANUAL)
    wait_for(lambda: state_of(run) == State.SUCCEEDED)
    assert target() == ROWS
    assert Heartbeat.objects.filter(role="worker").count() == 1


def test_a_worker_leaves_logging_as_settings_have_it(redis_url, settings):
    """Celery's own handlers would write unredacted logs."""
    settings.WARM_SPARK = False
    before = root_logging()
    with start_worker(app, pool="threads", concurrency=1, perform_ping_check=False, loglevel="CRITICAL"):
        during = root_logging()
    worker_process.stop()
    preview_threads.stop()
    assert during == before


def root_logging() -> tuple[int, list[type]]:
    """The level and the handlers of the root, without pytest's own: Django's set-up in the first worker drops those."""
    root = logging.getLogger()
    return root.level, [type(each) for each in root.handlers if not type(each).__module__.startswith("_pytest")]


def test_a_run_that_is_delivered_again_while_it_runs_is_left_alone(worker, pipeline, target, monkeypatch):
    """As a broker does whose visibility timeout is shorter than the run."""
    loading, go_on = threading.Event(), threading.Event()

    def wait(job, ports):
        loading.set()
        assert go_on.wait(timeout=20)

    claims = []
    monkeypatch.setattr(dispatch, "engine_for", lambda run: TableEngine(at={"load": wait}))
    monkeypatch.setattr(leases, "claim_run", lambda *args: claims.append(claim_run(*args)) or claims[-1])
    run = queue_run(pipeline, Trigger.MANUAL)
    assert loading.wait(timeout=20)
    for _ in range(3):
        app.send_task(RUN_TASK, (str(run.pk),))
    wait_for(lambda: len(claims) == 4)
    assert claims[1:] == [None, None, None]
    assert state_of(run) == State.RUNNING
    go_on.set()
    wait_for(lambda: state_of(run) == State.SUCCEEDED)
    run.refresh_from_db()
    assert run.attempt == 1
    assert target() == ROWS


def test_a_message_about_a_run_that_is_not_there_harms_nothing(worker, pipeline, target, monkeypatch):
    monkeypatch.setattr(dispatch, "engine_for", lambda run: TableEngine())
    app.send_task(RUN_TASK, ("00000000-0000-0000-0000-000000000000",))
    run = queue_run(pipeline, Trigger.MANUAL)
    wait_for(lambda: state_of(run) == State.SUCCEEDED)


@pytest.fixture
def may_leave(monkeypatch):
    """Forget after the test that the worker is shutting down."""
    monkeypatch.setattr(worker_state, "should_stop", None)
    monkeypatch.setattr(broker, "_held", [])


def test_a_worker_whose_spark_is_gone_puts_its_run_back_and_leaves(pipeline, target, monkeypatch, sent, may_leave):
    def lost(job, ports):
        raise Transient("spark.lost", "The JVM is gone.")

    monkeypatch.setattr(dispatch, "engine_for", lambda run: TableEngine(at={"pass": lost}))
    run = queue_run(pipeline, Trigger.MANUAL)
    tasks.run(str(run.pk))
    assert worker_state.should_stop == os.EX_TEMPFAIL
    run.refresh_from_db()
    assert (run.state, run.losses, run.failures) == (State.QUEUED, 1, 0)


def test_a_worker_that_is_to_end_leaves_runs_to_the_next(pipeline, target, monkeypatch, sent, may_leave):
    """Messages that it still receives are resent once it accepts no more."""

    def lost(job, ports):
        raise Transient("spark.lost", "The JVM is gone.")

    monkeypatch.setattr(dispatch, "engine_for", lambda run: TableEngine(at={"pass": lost}))
    run = queue_run(pipeline, Trigger.MANUAL)
    tasks.run(str(run.pk))
    tasks.run(str(run.pk))
    run.refresh_from_db()
    assert (run.attempt, sent) == (1, [str(run.pk)] * 2), "it was sent when it was queued, and requeued"
    worker_process.stop()
    preview_threads.stop()
    assert sent[2:] == [str(run.pk)]


def test_a_run_that_begins_while_its_worker_is_being_stopped_is_left_to_the_next(
    pipeline, target, monkeypatch, sent, may_leave
):
    """The worker has released all its runs just before this one began."""

    def stopped(job, ports):
        worker_state.should_stop = os.EX_OK
        interrupted = threading.Event()
        ports.cancellation.on_cancel(interrupted.set)
        assert interrupted.wait(timeout=20)
        ports.cancellation.check()

    monkeypatch.setattr(dispatch, "engine_for", lambda run: TableEngine(at={"pass": stopped}))
    run = queue_run(pipeline, Trigger.MANUAL)
    tasks.run(str(run.pk))
    tasks.run(str(run.pk))  # it still receives its own message
    run.refresh_from_db()
    assert (run.state, run.attempt, run.losses, run.failures) == (State.QUEUED, 1, 0, 0)
    assert sent == [str(run.pk)] * 2
    worker_process.stop()
    preview_threads.stop()
    assert sent[2:] == [str(run.pk)]


def test_messages_are_json_and_hold_the_runs_id_alone(pipeline, redis_url):
    app.control.purge()
    run = queue_run(pipeline, Trigger.MANUAL)
    with app.connection_for_read() as connection:
        message = connection.SimpleQueue(app.conf.task_default_queue).get(timeout=5)
    message.ack()
    assert message.content_type == "application/json"
    args, kwargs, _ = message.payload
    assert (args, kwargs) == ([str(run.pk)], {})
    assert app.conf.accept_content == ["json"]
