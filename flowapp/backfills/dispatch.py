"""Start pending chunks. Any number of processes may do this at once: the slots of running chunks are unique."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime

from django.conf import settings
from django.db import IntegrityError, transaction
from django.db.models import Count, Exists, F, OuterRef, QuerySet

from flowapp.alerts.isolation import Isolation
from flowapp.backfills.models import Backfill, Chunk, ChunkStatus
from flowapp.backfills.phases import Phase
from flowapp.backfills.transitions import lock_pipeline
from flowapp.clock import Now
from flowapp.runs.models import CLAIMABLE, Run, RunKind, State
from flowapp.runs.services import queue_child
from ir.errors import FlowError

TRIES = 20
"""How often a process looks again because another one has taken a slot or a chunk."""
NOT_RUNNABLE = ("pipeline.disabled", "pipeline.archived")
"""The codes of errors of a pipeline that a person has switched off meanwhile."""


def fill_slots() -> int:
    """Start pending chunks of all pipelines as far as the limits allow; return how many. The pipeline with the fewest
    running chunks is next; of several, the one that has waited longest. An error of one pipeline raises an alert, and
    the others go on."""
    started, isolation = 0, Isolation("start chunks")
    for _ in range(TRIES):
        waiting = [one for one in _list_waiting() if not isolation.leaves_alone(one.backfill.pipeline_id)]
        free = _free_global_slots() if waiting else []
        if not free:
            break
        done, collided = _start_in_turn(waiting, free, isolation)
        started += done
        if not collided:
            break
    return started


def start_chunk(chunk: Chunk, *, send: bool) -> Run | None:
    """Start this chunk if it is pending, the limits allow it and its backfill is not paused; return its run. If all
    slots are taken, it takes the place of another chunk of the backfill that no process has begun."""
    for _ in range(TRIES):
        if not Chunk.objects.filter(pk=chunk.pk, status=ChunkStatus.PENDING).exists():
            return None
        try:
            free = _free_global_slots()
            started = free and _start(chunk.backfill, free[0], chunk, send=send, needs_allowance=False)
            return started or _take_place(chunk)
        except Taken:
            continue
    return None


def _take_place(chunk: Chunk) -> Run | None:
    """Give the slots and the run of a chunk that waits for a process to this chunk. That chunk is pending again."""
    waiting = Chunk.objects.filter(
        backfill=chunk.backfill, status=ChunkStatus.RUNNING, run__state__in=CLAIMABLE, run__attempt=0
    )
    for other in waiting.select_related("run").order_by("-ordinal"):
        with transaction.atomic():
            # The lock of the run keeps workers from claiming it before it has its new chunk.
            run = Run.objects.filter(chunks=other, state__in=CLAIMABLE, attempt=0)
            if not run.update(due_at=Now()):
                continue
            lock_pipeline(chunk.pipeline_id)
            left = Chunk.objects.filter(pk=other.pk, status=ChunkStatus.RUNNING, run=other.run)
            if not left.update(status=ChunkStatus.PENDING, slot=None, global_slot=None, run=None, started_at=None):
                raise Taken
            _take(chunk, other.slot, other.global_slot)
            Chunk.objects.filter(pk=chunk.pk).update(run=other.run)
            return other.run
    return None


@dataclass(slots=True)
class _Waiting:
    """A backfill with pending chunks, and the number of those that are running."""

    backfill: Backfill
    running: int
    since: datetime

    @property
    def turn(self) -> tuple[int, datetime]:
        return self.running, self.since


def open_backfills() -> QuerySet[Backfill]:
    """Return the backfills whose chunks may be started."""
    return Backfill.objects.filter(
        phase=Phase.BACKFILLING,
        paused=False,
        pipeline__enabled=True,
        pipeline__archived_at=None,
        run__state=State.RUNNING,
        run__lease_until=None,
        run__cancel_requested=False,
    )


def _list_waiting() -> list[_Waiting]:
    pending = Chunk.objects.filter(backfill=OuterRef("pk"), status=ChunkStatus.PENDING)
    ready = open_backfills().exclude(allowance=0).filter(Exists(pending)).select_related("pipeline", "run__version")
    running = Chunk.objects.filter(status=ChunkStatus.RUNNING).values_list("backfill").annotate(Count("pk"))
    counts = dict(running.order_by())
    found = [_Waiting(one, counts.get(one.pk, 0), one.dispatched_at or one.started_at) for one in ready]
    return [one for one in found if one.running < one.backfill.parallelism]


def _free_global_slots() -> list[int]:
    return _free(
        Chunk.objects.exclude(global_slot=None).values_list("global_slot", flat=True), settings.MAX_PARALLEL_CHUNKS
    )


def _free(taken: Iterable[int | None], most: int) -> list[int]:
    used = set(taken)
    return [slot for slot in range(most) if slot not in used]


def _start_in_turn(waiting: list[_Waiting], free: list[int], isolation: Isolation) -> tuple[int, bool]:
    """Start one chunk after the other, each of the backfill whose turn it is. Return the number of started chunks, and
    whether another process was faster at one of them."""
    started, slots = 0, iter(free)
    slot = next(slots, None)
    while waiting and slot is not None:
        one, run = min(waiting, key=lambda candidate: candidate.turn), None
        try:
            with isolation.of(one.backfill.pipeline, but=Taken):
                run = _start(one.backfill, slot)
        except Taken:
            return started, True
        if run is None:
            waiting.remove(one)
            continue
        slot = next(slots, None)
        started += 1
        one.running += 1
        one.backfill.refresh_from_db(fields=["dispatched_at"])
        one.since = one.backfill.dispatched_at or one.since
    return started, False


def _start(
    backfill: Backfill, global_slot: int, chunk: Chunk | None = None, *, send: bool = True, needs_allowance: bool = True
) -> Run | None:
    """Start the chunk, or the first pending one, in one transaction. Returns None if the backfill can start no chunk.

    Raises Taken if another process was faster at a slot or at the chunk."""
    try:
        with transaction.atomic():
            lock_pipeline(backfill.pipeline_id)
            if not _lock(backfill, needs_allowance):
                return None
            free = _free(
                Chunk.objects.filter(pipeline=backfill.pipeline_id).exclude(slot=None).values_list("slot", flat=True),
                backfill.parallelism,
            )
            pending = backfill.chunks.filter(status=ChunkStatus.PENDING).order_by("ordinal")
            chunk = chunk or pending.first()
            if not free or chunk is None or backfill.run is None:
                raise _NothingToStart
            _take(chunk, free[0], global_slot)
            run = queue_child(backfill.run, RunKind.CHUNK, send=send)
            Chunk.objects.filter(pk=chunk.pk).update(run=run)
            return run
    except _NothingToStart:
        return None
    except FlowError as error:
        if error.code not in NOT_RUNNABLE:
            raise
        return None


class _NothingToStart(Exception):
    pass


class Taken(Exception):
    """Another process was faster at a slot or at the chunk."""


def _lock(backfill: Backfill, needs_allowance: bool) -> bool:
    """Lock the backfill until the end of the transaction, so that a process that pauses it sees the new run."""
    ready = open_backfills().filter(pk=backfill.pk)
    if needs_allowance:
        ready = ready.exclude(allowance=0)
    keys = list(ready.values_list("pk", flat=True))
    changes = {"dispatched_at": Now(), "allowance": F("allowance") - 1} if needs_allowance else {"dispatched_at": Now()}
    still = Backfill.objects.filter(pk__in=keys, paused=False, phase=Phase.BACKFILLING)
    return bool((still.exclude(allowance=0) if needs_allowance else still).update(**changes))


def _take(chunk: Chunk, slot: int | None, global_slot: int | None) -> None:
    """Give a pending chunk its slots, in the caller's transaction. Raises Taken."""
    pending = Chunk.objects.filter(pk=chunk.pk, status=ChunkStatus.PENDING)
    changes = {"status": ChunkStatus.RUNNING, "slot": slot, "global_slot": global_slot}
    try:
        taken = pending.update(**changes, started_at=Now(), completed_at=None, error="")
    except IntegrityError as error:  # the slots are unique
        raise Taken from error
    if not taken:
        raise Taken
