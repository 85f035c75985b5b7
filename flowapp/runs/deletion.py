"""Runs of pipelines that are to be deleted or archived, and what names runs that were."""

from __future__ import annotations

from flowapp.alerts.services import forget_run
from flowapp.pipelines.models import Pipeline
from flowapp.runs.models import Run
from ir.errors import FlowError


def refuse_unfinished(pipeline: Pipeline) -> None:
    """Raises FlowError while the pipeline has unfinished runs."""
    if Run.objects.filter(pipeline=pipeline, ended_at=None).exists():
        raise FlowError("pipeline.busy", f"Pipeline {pipeline.slug!r} has unfinished runs.", hint="Cancel them first.")


def forget_deleted(instance: Run, origin: object, **_: object) -> None:
    """Take a deleted run out of the alert that names it. The alerts of a deleted pipeline are deleted with it, so that
    its runs, which may be very many, need no query each."""
    if not isinstance(origin, Pipeline):
        forget_run(instance.pk)
