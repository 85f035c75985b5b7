"""How runs and backfills follow each other: functions that `flowapp.runs` calls."""

from __future__ import annotations

import logging
from collections.abc import Collection
from typing import Any
from uuid import UUID

from django.db import transaction
from django.db.models import F, Sum

from executors.errors import Terminal
from flowapp.alerts.isolation import Isolation
from flowapp.alerts.services import raise_alert
from flowapp.backfills.advancing import advance, advance_on_commit, last_run_ended
from flowapp.backfills.models import Action, Backfill, BackfillAction, Chunk, ChunkStatus
from flowapp.backfills.phases import Event, Phase, next_phase
from flowapp.backfills.selectors import has_backfill, is_new, newest_backfill, only_new
from flowapp.backfills.staleness import refuse_other_document
from flowapp.backfills.transitions import lock_pipeline, move
from flowapp.batches import IsAnyOf
from flowapp.clock import Now
from flowapp.pipelines.models import Pipeline
from flowapp.runs.models import ACTIVE, LOADED, CommitRecord, NodeRun, Run, RunKind, State, Trigger
from flowapp.runs.services import cancel_run, queue_run
from ir.errors import FlowError

logger = logging.getLogger(__name__)
UNFINISHED = (Phase.PLANNING, Phase.BACKFILLING)


# --- requests ---------------------------------------------------------------------------------------------------


def kind_of_load(pipeline: Pipeline, trigger: Trigger, is_again: bool) -> RunKind | None:
    """Return the kind of run that takes the place of a requested load: a backfill, until the history is loaded.

    Raises FlowError `run.busy`, `backfill.paused`, `backfill.outdated`."""
    backfill = newest_backfill(pipeline) if has_backfill(pipeline) else None
    if backfill is None:
        return RunKind.BACKFILL if has_backfill(pipeline) and is_new(pipeline) else None
    if backfill.phase == Phase.STREAMING:
        return None
    if backfill.run is not None and backfill.run.state in ACTIVE:
        raise FlowError(
            "run.busy",
            f"Pipeline {pipeline.slug!r} is {backfill.phase}: run {backfill.run.name} is {backfill.run.state}.",
            hint="Wait until its history is loaded; the page of the backfill shows the progress.",
        )
    if backfill.paused:
        raise FlowError(
            "backfill.paused",
            f"The backfill of {pipeline.slug!r} is paused.",
            hint="Resume it on the page of the backfill or with `flow backfill resume`.",
        )
    refuse_other_document(backfill, pipeline)
    return RunKind.BACKFILL


def attach_run(run: Run) -> None:
    """Let a new run continue the newest backfill of its pipeline with the limits of the newest document, or begin the
    first one. Failed chunks are tried again."""
    if run.kind != RunKind.BACKFILL:
        return
    backfill = newest_backfill(run.pipeline)
    if backfill is None:
        backfill = Backfill.objects.create(
            workspace_id=run.workspace_id,
            pipeline=run.pipeline,
            number=1,
            phase=next_phase(None, Event.STARTED),
            run=run,
            requested_by=run.requested_by,
            started_at=Now(),
            **_allowance(run.pipeline),
        )
        BackfillAction.objects.create(
            workspace_id=run.workspace_id,
            pipeline=run.pipeline,
            backfill=backfill,
            action=Action.START,
            at=Now(),
            done_by=run.requested_by,
            done_as=str(run.requested_by or run.get_trigger_display()),
        )
        return
    limits = {**_allowance(run.pipeline), "parallelism": _written(run.pipeline).get("parallelism") or 1}
    Backfill.objects.filter(pk=backfill.pk).update(run=run, finished_by=None, **limits)
    backfill.chunks.filter(status=ChunkStatus.FAILED).update(status=ChunkStatus.PENDING)


def _allowance(pipeline: Pipeline) -> dict[str, int | None]:
    """Return how many chunks each time of the schedule may start."""
    return {"allowance": _written(pipeline).get("maxChunksPerTick")}


def _written(pipeline: Pipeline) -> dict[str, Any]:
    """Return the backfill of the newest document."""
    return Pipeline.objects.values_list("backfill", flat=True).get(pk=pipeline.pk) or {}


def refuse_load_before_end(run: Run) -> None:
    """Refuse a load of a pipeline whose history is not loaded. It may have been queued before the backfill."""
    if run.kind != RunKind.LOAD or not has_backfill(run.pipeline):
        return
    backfill = newest_backfill(run.pipeline)
    if backfill is not None and backfill.phase in UNFINISHED:
        raise Terminal(
            "backfill.in_progress",
            f"The history of the source is not loaded yet: the pipeline is {backfill.phase}.",
            hint="Finish the backfill first; its page shows what is missing. Then run the pipeline again.",
        )


# --- runs -------------------------------------------------------------------------------------------------------


def stop_with_run(run: Run) -> None:
    """Pause the backfill whose run a person cancels, and cancel its chunks, which stay pending."""
    backfill = Backfill.objects.filter(run=run).exclude(phase=Phase.STREAMING).first()
    if run.kind != RunKind.BACKFILL or backfill is None:
        return
    Backfill.objects.filter(pk=backfill.pk).update(paused=True)
    for child in run.children.filter(state__in=ACTIVE):
        try:
            cancel_run(child)
        except FlowError as error:  # it has ended meanwhile, or a held load waits for its decision
            logger.info("%s", error)
    advance_on_commit(backfill)


def note_end(run: Run, state: State) -> None:
    """Store what the end of a run means for its backfill. Called in the transaction that ends the run."""
    if run.kind not in (RunKind.BACKFILL, RunKind.CHUNK, RunKind.FINISH_BACKFILL):
        return
    lock_pipeline(run.pipeline_id)
    if run.kind == RunKind.CHUNK:
        for chunk in Chunk.objects.select_related("backfill__pipeline").filter(run=run, status=ChunkStatus.RUNNING):
            _end_chunk(chunk, run, state)
    elif run.kind == RunKind.FINISH_BACKFILL:
        for backfill in Backfill.objects.select_related("pipeline", "run").filter(finished_by=run):
            last_run_ended(backfill, run, state)
    elif state not in LOADED:
        for backfill in Backfill.objects.filter(run=run, phase=Phase.PLANNING):
            _give_range_up(backfill)


def _give_range_up(backfill: Backfill) -> None:
    """Let the pipeline go on as before if the plan of a range has failed, perhaps because the range is mistyped."""
    if backfill.is_rewind:
        move(backfill, Event.GIVEN_UP, ended_at=Now(), paused=False)


def _end_chunk(chunk: Chunk, run: Run, state: State) -> None:
    changes: dict[str, object] = {
        "slot": None,
        "global_slot": None,
        "completed_at": Now(),
        "attempts": F("attempts") + run.attempt,
    }
    if state in LOADED:
        changes |= _loaded(chunk, run)
    else:
        changes |= _not_loaded(chunk, run, state)
    move(chunk.backfill, Event.CHUNK_ENDED)
    Chunk.objects.filter(pk=chunk.pk).update(**changes)
    advance_on_commit(chunk.backfill)


def _loaded(chunk: Chunk, run: Run) -> dict[str, object]:
    targets = NodeRun.objects.filter(run=run).exclude(rows_loaded=None)
    sums = targets.aggregate(rows_read=Sum("rows_read"), rows=Sum("rows_loaded"), rows_rejected=Sum("rows_rejected"))
    attempt = CommitRecord.objects.filter(run=run).values_list("attempt", flat=True).first() or run.attempt
    return {
        "status": ChunkStatus.DONE if sums["rows_read"] else ChunkStatus.EMPTY,
        "cursor_committed": chunk.upper,
        "winning_attempt": f"{run.lease_owner}/attempt-{attempt}",
        **{name: value or 0 for name, value in sums.items()},
    }


def _not_loaded(chunk: Chunk, run: Run, state: State) -> dict[str, object]:
    if state == State.CANCELLED and chunk.backfill.paused:
        return {"status": ChunkStatus.PENDING, "completed_at": None}
    stored = Run.objects.get(pk=run.pk)
    error = f"{stored.error_code}: {stored.error_message}"
    raise_alert(
        "backfill.chunk_failed",
        "error",
        f"Chunk {chunk.ordinal} of {chunk.backfill.pipeline} failed: {error}",
        "Correct the cause, then retry the failed chunks on the page of the backfill.",
        pipeline=chunk.backfill.pipeline,
        run=run,
    )
    return {"status": ChunkStatus.FAILED, "error": error}


def tick_for_waiting_process(run: Run) -> None:
    """Start the chunks that the next time of the schedule would start, if a process waits for the backfill and none is
    running."""
    backfill = Backfill.objects.select_related("pipeline").filter(run=run, allowance=0, paused=False).first()
    if backfill is not None and not backfill.chunks.filter(status=ChunkStatus.RUNNING).exists():
        with transaction.atomic():
            _tick(backfill)
    elif backfill := Backfill.objects.filter(run=run).first():
        advance(backfill.pk)


# --- schedules --------------------------------------------------------------------------------------------------


def tick(pipelines: Collection[UUID]) -> set[UUID]:
    """Let the due schedules of unfinished backfills start chunks instead of loads; return their pipelines. Called in
    the transaction that advances the schedules, and that locks the pipelines."""
    due = Pipeline.objects.filter(IsAnyOf("pk", pipelines), backfill__isnull=False)
    begun = Backfill.objects.filter(ended_at=None, pipeline__in=due).select_related("pipeline", "run")
    isolation = Isolation("continue backfills by schedule")
    for backfill in begun:
        with isolation.of(backfill.pipeline), transaction.atomic():
            _tick(backfill)
    new = list(only_new(due))
    for pipeline in new:
        with isolation.of(pipeline), transaction.atomic():
            _continue(pipeline)
    return {backfill.pipeline_id for backfill in begun} | {pipeline.pk for pipeline in new}


def allow_more(backfill: Backfill) -> None:
    """Allow as many further chunks as one time of the schedule starts."""
    Backfill.objects.filter(pk=backfill.pk).update(**_allowance(backfill.pipeline))


def _tick(backfill: Backfill) -> None:
    if backfill.run is not None and backfill.run.state in ACTIVE:
        allow_more(backfill)
        advance_on_commit(backfill)
    elif not backfill.paused and not backfill.chunks.filter(status=ChunkStatus.FAILED).exists():
        _continue(backfill.pipeline)  # otherwise a person has to act


def _continue(pipeline: Pipeline) -> None:
    try:
        queue_run(pipeline, Trigger.SCHEDULE)
    except FlowError as error:
        logger.warning("The schedule of %s could not continue its backfill: %s", pipeline, error)
