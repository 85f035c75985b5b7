"""What comes next in a backfill: more chunks, its end, or nothing until a person acts."""

from __future__ import annotations

import logging
from collections import Counter
from datetime import datetime
from uuid import UUID

from django.db import transaction
from django.db.models import Count

from executors.errors import Cancelled, Terminal
from flowapp.alerts.isolation import Isolation
from flowapp.backfills.counts import has_warnings, sum_chunk_runs
from flowapp.backfills.dispatch import NOT_RUNNABLE, fill_slots
from flowapp.backfills.models import COMPLETE, Backfill, ChunkStatus
from flowapp.backfills.phases import Event, Phase
from flowapp.backfills.transitions import lock_backfill, lock_pipeline, move
from flowapp.clock import Now
from flowapp.runs.ends import end_parked
from flowapp.runs.models import LOADED, Run, RunKind, State, Trigger
from flowapp.runs.services import queue_child, queue_run
from ir.errors import FlowError
from ir.words import counted

logger = logging.getLogger(__name__)


def advance_all(_: datetime) -> None:
    """Advance every backfill. A periodic task does this, in case that a process has died between a change and what
    follows on it."""
    isolation = Isolation("end backfills")
    parked = Backfill.objects.filter(phase=Phase.BACKFILLING, run__state=State.RUNNING).select_related("pipeline")
    for backfill in parked:
        if not isolation.leaves_alone(backfill.pipeline_id):
            with isolation.of(backfill.pipeline):
                _end_if_due(backfill.pk)
    fill_slots()


def advance_on_commit(backfill: Backfill) -> None:
    """Advance a backfill after the current transaction."""
    transaction.on_commit(lambda: advance(backfill.pk))


def advance(key: UUID, *, send: bool = True) -> None:
    """End the backfill's run if nothing can be done any more; otherwise start chunks. Safe to repeat."""
    if not _end_if_due(key, send=send) and send:
        fill_slots()


def _end_if_due(key: UUID, *, send: bool = True) -> bool:
    """Queue the last run if all chunks are loaded, or end the parked run if a person has to act. Return whether there
    is nothing to start."""
    backfill = Backfill.objects.select_related("pipeline", "run__version", "run__workspace").get(pk=key)
    run = backfill.run
    if backfill.phase != Phase.BACKFILLING or run is None or not run.is_parked:
        return True
    statuses = count_statuses(backfill)
    if (step := _progress(statuses)) != run.step:
        Run.objects.filter(pk=run.pk, state=State.RUNNING).update(step=step)
    if statuses[ChunkStatus.RUNNING]:
        return backfill.paused
    if statuses[ChunkStatus.PENDING] and not backfill.paused:
        return False
    with transaction.atomic():
        lock_pipeline(backfill.pipeline_id)
        if not lock_backfill(backfill) or count_statuses(backfill) != statuses:
            return False  # a person has just paused or resumed it, or retries the failed chunks
        _end(backfill, run, statuses, send)
    return True


def _end(backfill: Backfill, run: Run, statuses: Counter[str], send: bool) -> None:
    if backfill.paused:
        _stop(run, State.CANCELLED, _paused_error(statuses))
    elif statuses[ChunkStatus.FAILED]:
        loaded = any(statuses[status] for status in COMPLETE)
        _stop(run, State.PARTIALLY_LOADED if loaded else State.FAILED, _failed_error(statuses))
    else:
        _queue_last_run(backfill, run, send)


def count_statuses(backfill: Backfill) -> Counter[str]:
    """Return the number of chunks by status."""
    return Counter(dict(backfill.chunks.values_list("status").annotate(Count("pk")).order_by()))


def _queue_last_run(backfill: Backfill, run: Run, send: bool) -> None:
    """Queue the run that stores the mark in the target, once for each run of the backfill."""
    try:
        with transaction.atomic():
            last = queue_child(run, RunKind.FINISH_BACKFILL, send=send)
            if not Backfill.objects.filter(pk=backfill.pk, finished_by=None).update(finished_by=last):
                raise _QueuedAlready
    except _QueuedAlready:
        return
    except FlowError as error:
        if error.code not in NOT_RUNNABLE:
            raise
        logger.info("%s The next call tries again.", error)


class _QueuedAlready(Exception):
    pass


def last_run_ended(backfill: Backfill, run: Run, state: State) -> None:
    """End the backfill with its last run. Called in the transaction that ends that run."""
    parent = backfill.run
    if parent is None:
        return
    if state in LOADED:
        move(backfill, Event.CAUGHT_UP, ended_at=Now())
        _stop(parent, state)
        if not backfill.is_rewind:
            _load_what_is_new(parent)
        return
    stored = Run.objects.get(pk=run.pk)
    code, message = stored.error_code or "run.cancelled", stored.error_message or "The last run was cancelled."
    error = Terminal(code, f"All chunks are loaded, but the backfill could not end: {message}", hint=stored.error_hint)
    Backfill.objects.filter(pk=backfill.pk).update(finished_by=None)
    _stop(parent, State.CANCELLED if state == State.CANCELLED else State.FAILED, error)


def _load_what_is_new(parent: Run) -> None:
    """Queue the first load after a backfill, for the rows that have come since its plan."""
    try:
        queue_run(parent.pipeline, Trigger(parent.trigger), user=parent.requested_by, send=parent.sent_at is not None)
    except FlowError as error:
        if error.code not in NOT_RUNNABLE:
            raise
        logger.info("%s", error)


def _stop(run: Run, state: State, error: FlowError | None = None) -> None:
    """End a parked run with the counts of its children."""
    sum_chunk_runs(run)
    if state == State.SUCCEEDED and has_warnings(run):
        state = State.SUCCEEDED_WITH_WARNINGS
    end_parked(run, state, error)


def _paused_error(statuses: Counter[str]) -> Cancelled:
    return Cancelled(
        "backfill.paused",
        f"The backfill was paused after {_progress(statuses)}.",
        hint="Resume it on the page of the backfill or with `flow backfill resume`.",
    )


def _failed_error(statuses: Counter[str]) -> Terminal:
    return Terminal(
        "backfill.chunks_failed",
        f"{counted(statuses[ChunkStatus.FAILED], 'chunk')} failed; {_progress(statuses)} are loaded.",
        hint="Open the failed chunks on the page of the backfill, correct the cause, and retry them there or with "
        "`flow backfill retry`.",
    )


def _progress(statuses: Counter[str]) -> str:
    total = sum(statuses.values()) - statuses[ChunkStatus.SUPERSEDED]
    return f"{sum(statuses[status] for status in COMPLETE):,} of {counted(total, 'chunk')}"
