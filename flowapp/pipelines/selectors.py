"""Queries for pipelines and versions."""

from __future__ import annotations

from typing import Any

from django.db.models import QuerySet

from flowapp.accounts.models import Workspace
from flowapp.pipelines.models import Pipeline, PipelineVersion
from ir.errors import FlowError

MOST_NAMES, MOST_CANDIDATES = 500, 5


def list_pipelines(workspace: Workspace, *, archived: bool | None = False) -> QuerySet[Pipeline]:
    """List pipelines by id. `archived` selects archived ones, others, or with None all."""
    pipelines = Pipeline.objects.filter(workspace=workspace).order_by("slug")
    return pipelines if archived is None else pipelines.filter(archived_at__isnull=not archived)


def get_pipeline(workspace: Workspace, slug: str) -> Pipeline:
    """Return the pipeline of that id. Raises FlowError."""
    try:
        return Pipeline.objects.select_related("workspace").get(workspace=workspace, slug=slug)
    except Pipeline.DoesNotExist:
        raise FlowError(
            "pipeline.unknown",
            f"Unknown pipeline {slug!r} in workspace {workspace.slug!r}.",
            hint="`flow pipeline list` shows all pipelines; `flow pipeline save FILE` adds one.",
        ) from None


def find_pipeline(workspace: Workspace, text: str) -> Pipeline:
    """Return the pipeline with that id or, ignoring case, that name. Raises FlowError."""
    pipelines = Pipeline.objects.filter(workspace=workspace)
    if found := pipelines.filter(slug=text).first():
        return found
    named = list(pipelines.filter(name__iexact=text.strip()).order_by("slug")[: MOST_CANDIDATES + 1])
    if len(named) == 1:
        return named[0]
    if named:
        ids = ", ".join(pipeline.slug for pipeline in named[:MOST_CANDIDATES])
        more = " …" if len(named) > MOST_CANDIDATES else ""
        raise FlowError("pipeline.ambiguous", f"Several pipelines are named {text!r}: {ids}{more}.", hint="Use an id.")
    raise FlowError("pipeline.unknown", f"No pipeline has the id or name {text!r} here.")


def list_pipeline_names(workspace: Workspace, *, with_version: bool = False) -> QuerySet[Any]:
    """Return ids and names of the first pipelines as choices; optionally only of saved ones."""
    pipelines = list_pipelines(workspace)
    if with_version:
        pipelines = pipelines.exclude(latest_number=0)
    return pipelines.values_list("slug", "name")[:MOST_NAMES]


def list_versions(pipeline: Pipeline) -> QuerySet[PipelineVersion]:
    """List versions without their documents, newest first."""
    return pipeline.versions.select_related("author").defer("document").order_by("-number")


def get_version(pipeline: Pipeline, number: int | None = None) -> PipelineVersion:
    """Return the version of that number, or the newest. Raises FlowError."""
    versions = pipeline.versions.order_by("-number")
    found = versions.first() if number is None else versions.filter(number=number).first()
    if found is None:
        raise FlowError(
            "version.unknown",
            f"Pipeline {pipeline.slug!r} has no version {number or ''}".rstrip() + ".",
            hint=f"`flow pipeline history {pipeline.slug}` shows all versions.",
        )
    return found
