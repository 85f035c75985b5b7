"""Sends runs to workers. A message contains only the run's id; the scheduler resends lost messages."""

from __future__ import annotations

import logging
from uuid import UUID

from celery.worker import state as worker_state
from django.conf import settings
from django.db.models.functions import Now
from kombu.exceptions import OperationalError

from flowapp.celery import HOOK_TASK, RUN_TASK, app
from flowapp.runs.models import CLAIMABLE, Run

logger = logging.getLogger(__name__)
_held: list[UUID] = []


def send_run(run_id: UUID) -> None:
    """Send a run to the workers. A broker that is missing or silent is no failure: the scheduler sends it again.

    A worker that is to end would take it itself, so it is sent when that has stopped taking any.
    """
    if not settings.REDIS_URL:
        return
    if is_leaving():
        _held.append(run_id)
        return
    _send(run_id)


def is_leaving() -> bool:
    """Whether this process is a worker that is to end."""
    return worker_state.should_stop not in (None, False)


def send_held() -> None:
    """Send what was held back, now that this worker takes nothing more."""
    while _held:
        _send(_held.pop())


def _send(run_id: UUID) -> None:
    try:
        app.send_task(RUN_TASK, (str(run_id),))
    except OperationalError as error:
        logger.warning("Run %s was not sent, the broker does not answer: %s", run_id, type(error).__name__)


def send_hook(run_id: UUID, slug: str, key: str) -> None:
    """Send a hook that is to run again. What is lost here may be asked for again after a while."""
    if not settings.REDIS_URL:
        return
    try:
        app.send_task(HOOK_TASK, (str(run_id), slug, key))
    except OperationalError as error:
        logger.warning("A hook of run %s was not sent, the broker does not answer: %s", run_id, type(error).__name__)


def send_next_of(pipeline_id: UUID) -> None:
    """Send the run of this pipeline that has waited longest, now that it may run. Inline runs look after themselves."""
    waiting = Run.counted.filter(pipeline_id=pipeline_id, state__in=CLAIMABLE, due_at__lte=Now())
    next_run = waiting.exclude(sent_at=None).order_by("queued_at", "number").first()
    if next_run:
        Run.objects.filter(pk=next_run.pk).update(sent_at=Now())
        send_run(next_run.pk)
