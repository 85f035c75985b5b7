"""Queries for backfills."""

from __future__ import annotations

from django.db.models import Exists, OuterRef, QuerySet

from flowapp.backfills.models import Backfill, Chunk
from flowapp.pipelines.models import Pipeline
from flowapp.runs.models import CommitRecord, Run
from ir.errors import FlowError


def has_backfill(pipeline: Pipeline) -> bool:
    """Return whether the newest document has a backfill."""
    return Pipeline.objects.filter(pk=pipeline.pk, backfill__isnull=False).exists()


def is_new(pipeline: Pipeline) -> bool:
    """Return whether a pipeline has neither been loaded nor backfilled."""
    return only_new(Pipeline.objects.filter(pk=pipeline.pk)).exists()


def only_new(pipelines: QuerySet[Pipeline]) -> QuerySet[Pipeline]:
    """Return those that have neither been loaded nor backfilled."""
    loaded = CommitRecord.objects.filter(pipeline=OuterRef("pk"), forgotten_at=None)
    begun = Backfill.objects.filter(pipeline=OuterRef("pk"))
    return pipelines.filter(~Exists(loaded), ~Exists(begun))


def newest_backfill(pipeline: Pipeline) -> Backfill | None:
    """Return the backfill that has the pipeline's phase; None before the first one."""
    found = Backfill.objects.filter(pipeline=pipeline).select_related("pipeline", "run__version", "run__pipeline")
    return found.order_by("-number").first()


def get_backfill(pipeline: Pipeline) -> Backfill:
    """Return the newest backfill. Raises FlowError `backfill.none`."""
    found = newest_backfill(pipeline)
    if found is None:
        raise FlowError(
            "backfill.none",
            f"Pipeline {pipeline.slug!r} has no backfill yet.",
            hint="Run the pipeline: its first run plans the backfill."
            if has_backfill(pipeline)
            else 'Add a "backfill" to its document; the page of the backfill shows how.',
        )
    return found


def get_chunk(backfill: Backfill, ordinal: int) -> Chunk:
    """Return a chunk of a backfill by its number. Raises FlowError `backfill.chunk_unknown`."""
    found = Chunk.objects.select_related("backfill__pipeline", "run").filter(backfill=backfill, ordinal=ordinal).first()
    if found is None:
        raise FlowError(
            "backfill.chunk_unknown",
            f"The backfill of {backfill.pipeline.slug!r} has no chunk {ordinal}.",
            hint="`flow backfill status` shows the numbers of its chunks.",
        )
    return found


def list_chunks(pipeline: Pipeline, *, status: str | None = None) -> QuerySet[Chunk]:
    """List the chunks of the newest backfill of a pipeline, in their order; none before the first backfill."""
    chunks = Chunk.objects.filter(backfill=newest_backfill(pipeline)).order_by("ordinal", "pk")
    return chunks if status is None else chunks.filter(status=status)


def list_changed(backfill: Backfill) -> QuerySet[Chunk]:
    """List the loaded chunks whose rows had changed in the source when the backfill ended."""
    return backfill.chunks.exclude(rows_now=None).order_by("ordinal")


def describe_chunk_of(run: Run) -> str:
    """Describe the chunk that a run has loaded, with the reason if its range was loaded again; "" for other runs."""
    chunk = Chunk.objects.select_related("backfill").filter(run=run).first()
    if chunk is None:
        return ""
    again = f", loaded again: {chunk.backfill.reason}" if chunk.backfill.reason else ""
    return f"chunk {chunk.ordinal} of backfill {chunk.backfill.number}{again}"
