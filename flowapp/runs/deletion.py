"""Checks and cleanup for the deletion of runs, and for pipelines that are deleted or archived."""

from __future__ import annotations

from flowapp.alerts.services import forget_run
from flowapp.pipelines.models import Pipeline
from flowapp.runs.models import Run
from ir.errors import FlowError


def refuse_unfinished(pipeline: Pipeline) -> None:
    """Raise FlowError while the pipeline has unfinished runs."""
    if Run.objects.filter(pipeline=pipeline, ended_at=None).exists():
        raise FlowError("pipeline.busy", f"Pipeline {pipeline.slug!r} has unfinished runs.", hint="Cancel them first.")


def forget_deleted(instance: Run, origin: object, **_: object) -> None:
    """Remove a deleted run from the alert that names it. The alerts of a deleted pipeline are deleted with it, so its
    runs, of which there may be very many, need no query each."""
    if not isinstance(origin, Pipeline):
        forget_run(instance.pk)
