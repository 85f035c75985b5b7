"""Queries for triggers of one pipeline."""

from __future__ import annotations

from uuid import UUID

from django.db.models import QuerySet

from flowapp.pipelines.models import Pipeline
from flowapp.triggers.models import EventTrigger, TriggerChange
from ir.errors import FlowError

NEWEST_CHANGES = 50


def list_triggers(pipeline: Pipeline) -> QuerySet[EventTrigger]:
    return EventTrigger.objects.filter(pipeline=pipeline).select_related("pipeline", "created_by").order_by("name")


def list_changes(pipeline: Pipeline) -> QuerySet[TriggerChange]:
    """Return the newest changes of a pipeline's triggers."""
    return TriggerChange.objects.filter(pipeline=pipeline).order_by("-at", "-pk")[:NEWEST_CHANGES]


def get_trigger(pipeline: Pipeline, *, key: UUID | None = None, name: str = "") -> EventTrigger:
    """Return a trigger of this pipeline by its id or by its name. Raises FlowError `trigger.unknown`."""
    wanted = {"name": name} if key is None else {"pk": key}
    trigger = list_triggers(pipeline).filter(**wanted).first()
    if trigger is None:
        named = f" {name!r}" if name else ""
        raise FlowError(
            "trigger.unknown",
            f"{pipeline.slug} has no such trigger{named}.",
            hint=f"`flow trigger list {pipeline.slug}` shows its triggers.",
        )
    return trigger
