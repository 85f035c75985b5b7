"""Sends runs to workers. A message contains only the run's id; the scheduler resends lost messages."""

from __future__ import annotations

import logging
from typing import Any
from uuid import UUID

from celery.worker import state as worker_state
from django.conf import settings
from kombu.exceptions import OperationalError

from flowapp.celery import AFTER_OTHERS, HOOK_TASK, RUN_TASK, STREAM_TASK, app
from flowapp.clock import Now
from flowapp.runs.models import CLAIMABLE, Run, RunKind
from flowapp.runs.run_kinds import list_yielding

logger = logging.getLogger(__name__)
_held: list[UUID] = []


def send_run(run_id: UUID, *, in_turn: bool = False) -> None:
    """Send a run to the workers. If the broker is missing or silent, the scheduler resends the run later.

    A run whose kind yields to others is taken after all others, except `in_turn`.
    """
    if not settings.REDIS_URL:
        return
    kind = Run.objects.filter(pk=run_id).values_list("kind", flat=True).first()
    options: dict[str, Any] = {"priority": AFTER_OTHERS} if kind in list_yielding() and not in_turn else {}
    try:
        app.send_task(STREAM_TASK if kind == RunKind.STREAM else RUN_TASK, (str(run_id),), **options)
    except OperationalError as error:
        logger.warning("Run %s was not sent, the broker does not answer: %s", run_id, type(error).__name__)


def is_leaving() -> bool:
    """Return whether this process is a worker that is shutting down."""
    # 0 is the exit status of a worker that was stopped, and equals False.
    return worker_state.should_stop is not None and worker_state.should_stop is not False


def hold_run(run_id: UUID) -> None:
    """Defer a message that a worker has received while it shuts down, until it accepts no more."""
    _held.append(run_id)


def send_held() -> None:
    """Send the deferred messages once this worker accepts no more runs."""
    while _held:
        send_run(_held.pop())


def send_hook(run_id: UUID, slug: str, key: str) -> None:
    """Send a hook to be rerun. If the message is lost, the user can request the hook again later."""
    if not settings.REDIS_URL:
        return
    try:
        app.send_task(HOOK_TASK, (str(run_id), slug, key))
    except OperationalError as error:
        logger.warning("A hook of run %s was not sent, the broker does not answer: %s", run_id, type(error).__name__)


def send_next_of(pipeline_id: UUID) -> None:
    """Send the pipeline's oldest queued run, which may now start. Inline runs need no message."""
    waiting = Run.counted.filter(pipeline_id=pipeline_id, state__in=CLAIMABLE, due_at__lte=Now())
    next_run = waiting.exclude(sent_at=None).order_by("queued_at", "number").first()
    if next_run:
        Run.objects.filter(pk=next_run.pk).update(sent_at=Now())
        send_run(next_run.pk)
