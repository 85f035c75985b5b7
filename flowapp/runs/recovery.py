"""Recover runs whose worker is gone, and finalize runs whose target was unreachable."""

from __future__ import annotations

import logging
from datetime import timedelta

from django.db.models import Q

from executors.errors import Failure, LeaseLost, Terminal, Transient
from flowapp.alerts.isolation import Isolation
from flowapp.clock import Now, from_now
from flowapp.pipelines.models import Pipeline
from flowapp.processes.heartbeats import process_name
from flowapp.runs.finalizing import cancelled, finalize
from flowapp.runs.leases import Claim, take_over
from flowapp.runs.models import Run, State
from flowapp.runs.outcomes import end_lost

logger = logging.getLogger(__name__)
AT_ONCE = 100
INLINE_GRACE = timedelta(seconds=30)


def recover_lost_runs(pipeline: Pipeline | None = None) -> int:
    """Take over every run with an expired lease (of one pipeline, if given); return how many.

    Any number of processes may do this concurrently. A run whose end meets an error is tried again once its new lease
    has expired; the others go on.
    """
    expired = Run.objects.filter(state=State.RUNNING, lease_until__lt=Now())
    if pipeline is not None:
        expired = expired.filter(pipeline=pipeline)
    owner = process_name()
    taken, isolation = 0, Isolation("take back lost runs")
    for run in expired.select_related("pipeline", "version", "workspace").order_by("lease_until")[:AT_ONCE]:
        if claim := take_over(run, owner):
            with isolation.of(run.pipeline):
                _recover(claim, run)
            taken += 1
    return taken


def _recover(claim: Claim, run: Run) -> None:
    try:
        if run.outcome:
            finalize(claim, run, State(run.outcome), _stored_error(run))
        elif run.cancel_requested:
            finalize(claim, run, State.CANCELLED, cancelled())
        else:
            end_lost(claim, run, Transient("worker.lost", "The worker of the run stopped sending heartbeats."))
    except LeaseLost as error:
        logger.warning("%s", error)


def _stored_error(run: Run) -> Failure:
    """Return the stored error of a deferred run."""
    error = Terminal(run.error_code, run.error_message, hint=run.error_hint, node=run.error_node or None)
    error.encrypted_detail = run.error_detail
    return error


def find_parked(pipeline: Pipeline) -> Run | None:
    """Return the parked run of the pipeline, if there is one."""
    parked = Run.counted.filter(pipeline=pipeline, state=State.RUNNING, lease_owner="", lease_until=None)
    return parked.select_related("pipeline").first()


def adopt_inline(pipeline: Pipeline) -> list[Run]:
    """Return queued runs of inline processes that are gone; these runs were never sent to a worker."""
    left = Run.counted.filter(pipeline=pipeline, state__in=(State.QUEUED, State.APPROVED), sent_at=None).filter(
        Q(attempt__gt=0) | Q(queued_at__lt=from_now(-INLINE_GRACE.total_seconds()))
    )
    return list(left.select_related("pipeline").order_by("queued_at", "number"))
