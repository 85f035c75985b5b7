"""What a worker process does besides tasks: it sends heartbeats and starts Spark before its first run."""

from __future__ import annotations

import logging
import os
from functools import cache
from typing import Any

from celery.signals import setup_logging, worker_init, worker_shutdown, worker_shutting_down
from celery.worker import state as worker_state
from django.conf import settings

from executors.api import spark_answers, warm_up_spark
from flowapp.alerts.services import resolve_by
from flowapp.celery import STREAM_QUEUE
from flowapp.processes.heartbeats import STREAM_WORKER, HeartbeatThread, process_name, spark_name
from flowapp.runs.broker import send_held
from flowapp.runs.hooks import interrupt_hooks
from flowapp.runs.leases import interrupt_all
from flowapp.runs.outcomes import is_loss
from ir.errors import FlowError

logger = logging.getLogger(__name__)
_heartbeats: list[HeartbeatThread] = []


@cache
def owner() -> str:
    """Return this process's name in leases and heartbeats."""
    return process_name()


def leave() -> None:
    """Shut down this worker, which accepts no more runs; its supervisor starts a new one with a new Spark."""
    logger.error("Spark stopped. This worker exits and must be restarted.")
    setattr(worker_state, "should_stop", os.EX_TEMPFAIL)  # noqa: B010 - typed as None


def leave_if_lost(error: FlowError) -> None:
    if is_loss(error):
        leave()


@setup_logging.connect
def keep_logging(**_: Any) -> None:
    """Keep the logging of the settings, which redacts secrets; Celery's own handlers would not."""


@worker_init.connect
def start(sender: Any = None, **_: Any) -> None:
    """Start heartbeats before Spark, so that a worker that is starting Spark does not count as missing."""
    role = STREAM_WORKER if sender is not None and STREAM_QUEUE in sender.app.amqp.queues.consume_from else "worker"
    # Spark's heartbeat has its own thread: a hanging Java process must not stop the worker's heartbeat.
    for thread in (HeartbeatThread(owner(), role), HeartbeatThread(spark_name(owner()), "spark", spark_answers)):
        thread.start()
        _heartbeats.append(thread)
    if role == "worker":
        resolve_by("worker.seen")
    if settings.WARM_SPARK:
        warm_up_spark()


@worker_shutting_down.connect
def hurry(**_: Any) -> None:
    """Requeue runs instead of waiting for them; rerun hooks end as failed."""
    interrupt_all()
    interrupt_hooks()


@worker_shutdown.connect
def stop(**_: Any) -> None:
    send_held()
    while _heartbeats:
        _heartbeats.pop().stop()
