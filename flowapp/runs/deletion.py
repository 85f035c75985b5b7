"""Runs of pipelines that are to be deleted."""

from __future__ import annotations

from flowapp.pipelines.models import Pipeline
from flowapp.runs.models import Run
from ir.errors import FlowError


def refuse_deletion(pipeline: Pipeline) -> None:
    """Raises FlowError while the pipeline has unfinished runs."""
    if Run.objects.filter(pipeline=pipeline, ended_at=None).exists():
        raise FlowError("pipeline.busy", f"Pipeline {pipeline.slug!r} has unfinished runs.", hint="Cancel them first.")
