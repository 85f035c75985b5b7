"""Store the chunks that a run has planned."""

from __future__ import annotations

from executors.errors import Terminal
from executors.model import ChunkPlan
from executors.report import RunReport
from flowapp.backfills.advancing import advance_on_commit
from flowapp.backfills.bounds import overlaps
from flowapp.backfills.models import Backfill, Chunk, ChunkStatus
from flowapp.backfills.phases import Event, Phase
from flowapp.backfills.transitions import lock_pipeline, move
from flowapp.batches import in_batches
from flowapp.clock import Now
from flowapp.runs.models import Run


def park_with_plan(run: Run, report: RunReport) -> bool:
    """Store the plan of a backfill's run, which is then parked. Called in the transaction that ends its attempt."""
    lock_pipeline(run.pipeline_id)
    backfill = Backfill.objects.get(run=run)
    if backfill.phase == Phase.PLANNING:
        if report.plan is None:
            raise Terminal("backfill.no_plan", "The source returned no plan of its chunks.", hint="Run it again.")
        _store(backfill, report.plan)
    advance_on_commit(backfill)
    return True


def store_bytes(run: Run, report: RunReport) -> bool:
    """Store the size of a chunk's rows. The run then ends."""
    lock_pipeline(run.pipeline_id)
    Chunk.objects.filter(run=run).update(bytes=report.staged_bytes)
    return False


def store_changes(run: Run, report: RunReport) -> bool:
    """Store which chunks have other rows in the source now than when they were loaded. The run then ends."""
    lock_pipeline(run.pipeline_id)
    now = {change.ordinal: change.rows_now for change in report.chunk_changes if change.ordinal is not None}
    for backfill in Backfill.objects.filter(finished_by=run):
        backfill.chunks.exclude(rows_now=None).update(rows_now=None)
        for batch in in_batches(list(now)):
            chunks = list(backfill.chunks.filter(ordinal__in=batch).only("ordinal"))
            for chunk in chunks:
                chunk.rows_now = now[chunk.ordinal]
            Chunk.objects.bulk_update(chunks, ["rows_now"])
    return False


def _store(backfill: Backfill, plan: ChunkPlan) -> None:
    move(
        backfill,
        Event.PLANNED,
        cursor_kind=plan.cursor_kind,
        column=plan.column,
        type=plan.type,
        cut=plan.cut,
        mark=plan.mark,
        estimated_rows=plan.estimated_rows,
        parallelism=plan.parallelism,
        planned_at=Now(),
    )
    _supersede(backfill, plan)
    for batch in in_batches(plan.chunks):
        Chunk.objects.bulk_create(
            Chunk(
                workspace_id=backfill.workspace_id,
                pipeline_id=backfill.pipeline_id,
                backfill=backfill,
                ordinal=chunk.ordinal,
                partition=dict(chunk.partition),
                lower=chunk.lower,
                upper=chunk.upper,
                is_null=chunk.is_null,
                predicate=chunk.predicate,
            )
            for chunk in batch
        )


def _supersede(backfill: Backfill, plan: ChunkPlan) -> None:
    """Mark the older chunks whose rows are planned again. They stay for audit."""
    older = Chunk.objects.filter(pipeline=backfill.pipeline_id).exclude(backfill=backfill)
    older = older.exclude(status__in=(ChunkStatus.RUNNING, ChunkStatus.SUPERSEDED))
    if not backfill.is_rewind:
        older.update(status=ChunkStatus.SUPERSEDED)
        return
    if not plan.chunks:
        return
    # The ends that the plan has are written as those of older chunks are, unlike those that a person has written.
    lower, upper = plan.chunks[0].lower, plan.chunks[-1].upper
    keys = [
        key
        for key, older_lower, older_upper in older.filter(is_null=False).values_list("pk", "lower", "upper")
        if overlaps(older_lower, older_upper, lower, upper)
    ]
    for batch in in_batches(keys):
        Chunk.objects.filter(pk__in=batch).update(status=ChunkStatus.SUPERSEDED)
