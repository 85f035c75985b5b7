"""Backfills whose chunks another program starts, such as a workflow service: list the next chunks, run one of them."""

from __future__ import annotations

import time
from dataclasses import dataclass
from enum import StrEnum, auto

from django.db.models import Q

from flowapp.backfills.advancing import advance
from flowapp.backfills.dispatch import start_chunk
from flowapp.backfills.models import COMPLETE, Backfill, Chunk, ChunkStatus
from flowapp.backfills.phases import Phase
from flowapp.backfills.run_events import allow_more
from flowapp.backfills.selectors import get_backfill, get_chunk, has_backfill, is_new, newest_backfill
from flowapp.clock import Now
from flowapp.pipelines.models import Pipeline
from flowapp.processes.heartbeats import process_name
from flowapp.runs.attended import has_live_worker
from flowapp.runs.dispatch import LOOK_AGAIN_SECONDS, execute_claimed, run_to_end, run_to_end_with_followers
from flowapp.runs.leases import claim_run
from flowapp.runs.models import ACTIVE, CLAIMABLE, RESTING, Run, State, Trigger
from flowapp.runs.recovery import recover_lost_runs
from flowapp.runs.run_kinds import Engine
from flowapp.runs.services import queue_run
from ir.errors import FlowError


class Situation(StrEnum):
    """What a program that starts chunks has to do: run the chunks; ask again later; let a person act; nothing more."""

    CHUNKS = auto()
    WAIT = auto()
    FAILED = auto()
    COMPLETE = auto()


@dataclass(frozen=True, slots=True)
class NextChunks:
    """The first chunks that no process has begun. `left` counts all that are not loaded yet."""

    situation: Situation
    chunks: tuple[Chunk, ...] = ()
    left: int = 0


def next_chunks(pipeline: Pipeline, most: int, engine: Engine | None = None) -> NextChunks:
    """Return up to `most` chunks to run, perhaps more than may run at once. This process makes the plan if
    there is none, and ends the backfill if all chunks are loaded. It counts as one time of the schedule.

    Raises FlowError `backfill.none`, and the errors of `queue_run`."""
    if not has_backfill(pipeline):
        get_backfill(pipeline)  # raises the error of a pipeline that never had one
        return NextChunks(Situation.COMPLETE)
    backfill = newest_backfill(pipeline)
    if not is_new(pipeline) if backfill is None else backfill.phase == Phase.STREAMING:
        return NextChunks(Situation.COMPLETE)
    if backfill is None or _may_go_on(backfill):
        _execute_until_parked(_current_run(pipeline, backfill), engine)
    backfill = get_backfill(pipeline)
    if backfill.phase == Phase.BACKFILLING:
        allow_more(backfill)
        advance(backfill.pk)
        _execute_last_run(pipeline, engine)
    return _list_next(get_backfill(pipeline), most)


def _may_go_on(backfill: Backfill) -> bool:
    """Return whether the backfill needs no person: it is not paused, and not all that is left has failed."""
    open_ones = (ChunkStatus.PENDING, ChunkStatus.RUNNING)
    failed = backfill.chunks.filter(status=ChunkStatus.FAILED).exists()
    return not backfill.paused and (not failed or backfill.chunks.filter(status__in=open_ones).exists())


def _current_run(pipeline: Pipeline, backfill: Backfill | None) -> Run:
    if backfill is not None and backfill.run is not None and backfill.run.state in ACTIVE:
        return backfill.run
    return queue_run(pipeline, Trigger.CLI, if_busy="refuse", send=has_live_worker())


def _execute_until_parked(run: Run, engine: Engine | None) -> None:
    """Execute the run in this process unless a worker is faster. Raises its error if it ends instead."""
    while not run.is_parked and run.state not in RESTING:
        if claim := claim_run(run.pk, process_name()):
            execute_claimed(claim, engine, can_wait=False)
        else:
            time.sleep(LOOK_AGAIN_SECONDS)
            recover_lost_runs(run.pipeline)
        run.refresh_from_db()
    if run.error_code:
        raise FlowError(run.error_code, run.error_message, hint=run.error_hint)


def _execute_last_run(pipeline: Pipeline, engine: Engine | None) -> None:
    """Execute the end of the backfill, and the first load after it."""
    backfill = get_backfill(pipeline)
    last = backfill.finished_by
    if backfill.run is not None and last is not None and last.state in ACTIVE:
        run_to_end_with_followers(backfill.run, engine)


def _list_next(backfill: Backfill, most: int) -> NextChunks:
    if backfill.phase == Phase.STREAMING:
        return NextChunks(Situation.COMPLETE)
    left = backfill.chunks.exclude(status__in=(*COMPLETE, ChunkStatus.SUPERSEDED)).count()
    waiting = Q(status=ChunkStatus.RUNNING, run__state__in=CLAIMABLE, run__due_at__lte=Now())
    not_begun = backfill.chunks.filter(waiting | Q(status=ChunkStatus.PENDING)).order_by("ordinal")
    per_time = (backfill.pipeline.backfill or {}).get("maxChunksPerTick", most)
    found = tuple(not_begun[: min(most, per_time)])
    if found and not backfill.paused:
        return NextChunks(Situation.CHUNKS, found, left)
    situation = Situation.WAIT if _may_go_on(backfill) or backfill.paused else Situation.FAILED
    return NextChunks(situation, (), left)


def run_chunk(pipeline: Pipeline, ordinal: int, engine: Engine | None = None) -> Run | None:
    """Execute a chunk in this process to its end; return its run. If the chunk is loaded already, that is the run that
    has loaded it, None if that run is unknown. A failed chunk is tried again.

    Raises FlowError `backfill.chunk_unknown`, `run.busy`, `backfill.paused`."""
    chunk = get_chunk(get_backfill(pipeline), ordinal)
    if chunk.status in COMPLETE:
        return chunk.run
    if chunk.status == ChunkStatus.SUPERSEDED:
        raise FlowError(
            "backfill.chunk_unknown",
            f"Chunk {ordinal} of {pipeline.slug!r} is superseded.",
            hint="`flow backfill next` prints the chunks of the present plan.",
        )
    run = _run_of(chunk, engine)
    if run.state == State.RUNNING:
        recover_lost_runs(pipeline)
        run.refresh_from_db()
    if run.state == State.RUNNING:
        raise _busy(chunk)
    return run_to_end(run, engine)


def _run_of(chunk: Chunk, engine: Engine | None) -> Run:
    """Return the run of the chunk that waits for a process, or start one. If the run of the backfill has ended, because
    the chunks that were left had failed, another one begins."""
    if chunk.status == ChunkStatus.RUNNING and chunk.run is not None:
        return chunk.run
    if chunk.backfill.paused:
        raise FlowError(
            "backfill.paused",
            f"The backfill of {chunk.backfill.pipeline.slug!r} is paused.",
            hint="Resume it on the page of the backfill or with `flow backfill resume`.",
        )
    if chunk.status == ChunkStatus.FAILED:
        Chunk.objects.filter(pk=chunk.pk, status=ChunkStatus.FAILED).update(status=ChunkStatus.PENDING)
    backfill = chunk.backfill
    if backfill.run is None or backfill.run.state not in ACTIVE:
        _execute_until_parked(_current_run(backfill.pipeline, backfill), engine)
        chunk = get_chunk(get_backfill(backfill.pipeline), chunk.ordinal)
        if chunk.status != ChunkStatus.PENDING and chunk.run is not None:
            return chunk.run  # that run has started the chunk itself
    run = start_chunk(chunk, send=False)
    if run is None:
        raise _busy(chunk)
    return run


def _busy(chunk: Chunk) -> FlowError:
    return FlowError(
        "run.busy",
        f"Chunk {chunk.ordinal} of {chunk.backfill.pipeline.slug!r} cannot start now: another process runs it, or all "
        "slots are taken.",
        hint="Ask again later: `flow backfill next` prints the chunks that can run.",
    )
