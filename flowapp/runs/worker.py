"""What a worker process does besides running tasks: it says that it lives, and starts Spark before its first run."""

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
from flowapp.processes.heartbeats import HeartbeatThread, process_name, spark_name
from flowapp.runs.broker import send_held
from flowapp.runs.hooks import interrupt_hooks
from flowapp.runs.leases import interrupt_all
from flowapp.runs.outcomes import is_loss
from ir.errors import FlowError

logger = logging.getLogger(__name__)
_heartbeats: list[HeartbeatThread] = []


@cache
def owner() -> str:
    """This process, as leases and heartbeats name it."""
    return process_name()


def leave() -> None:
    """End this worker, which takes no more runs; its supervisor starts a fresh one with a fresh Spark."""
    logger.error("Spark stopped. This worker exits and must be restarted.")
    setattr(worker_state, "should_stop", os.EX_TEMPFAIL)  # noqa: B010 - typed as None


def leave_if_lost(error: FlowError) -> None:
    if is_loss(error):
        leave()


@setup_logging.connect
def keep_logging(**_: Any) -> None:
    """Logging stays as settings have it, secrets taken out; Celery's own handlers would let them through."""


@worker_init.connect
def start(**_: Any) -> None:
    """Heard of first, warm second: a worker that warms up is no missing worker."""
    # Spark's heart has a thread of its own: a Java process that hangs must not silence its worker.
    for thread in (HeartbeatThread(owner(), "worker"), HeartbeatThread(spark_name(owner()), "spark", spark_answers)):
        thread.start()
        _heartbeats.append(thread)
    resolve_by("worker.seen")
    if settings.WARM_SPARK:
        warm_up_spark()


@worker_shutting_down.connect
def hurry(**_: Any) -> None:
    """Runs are not waited for, they go back to the queue; hooks that run again end as failed."""
    interrupt_all()
    interrupt_hooks()


@worker_shutdown.connect
def stop(**_: Any) -> None:
    send_held()
    while _heartbeats:
        _heartbeats.pop().stop()
