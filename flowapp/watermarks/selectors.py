"""Reading marks: where they stand, with their history, or else the copy of what was last seen."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime

from django.utils import timezone

from executors.errors import Failure
from executors.model import Connection
from executors.target_database import TableName, WatermarkChange, WatermarkDoubt, read_watermark
from flowapp.connections.selectors import get_connection
from flowapp.connections.services import resolve
from flowapp.pipelines.models import Pipeline
from flowapp.watermarks.models import WatermarkCopy
from flowapp.watermarks.places import Place, places_of


@dataclass(frozen=True, slots=True)
class Watermark:
    """A mark as people see it. `value` is None before the first load and after a reset; `trouble` says why this is only
    the copy of `seen_at`. `warnings` are to be known before it is set or reset."""

    place: Place
    column: str
    type: str
    value: str | None
    seen_at: datetime | None
    boundary_rows: int = 0
    changes: list[WatermarkChange] = field(default_factory=list)
    trouble: str = ""
    warnings: list[WatermarkDoubt] = field(default_factory=list)


def connection_of(place: Place) -> Connection:
    """The connection of the target's database; raises UnknownConnection."""
    return resolve(get_connection(place.pipeline.workspace, place.target.connection))


def get_watermark(place: Place) -> Watermark:
    """The mark as it stands, which is copied; while its database does not answer, the copy."""
    try:
        return _read(place)
    except Failure as failure:
        return _copy(place, failure.message)


def _read(place: Place) -> Watermark:
    found = read_watermark(connection_of(place), place.key, node=place.target.id)
    changes, doubts, seen_at = found.changes, found.doubts, timezone.now()
    if found.stored is None:
        watermark = Watermark(place, place.column, "", None, seen_at, changes=changes, warnings=doubts)
    else:
        column, kind, value = found.stored.column, found.stored.type, found.stored.value
        watermark = Watermark(place, column, kind, value, seen_at, found.boundary_rows, changes, warnings=doubts)
    seen = {"column": watermark.column, "type": watermark.type, "value": watermark.value or ""}
    keep_copy(place.pipeline, place.target.id, place.key.table, **seen)
    return watermark


def keep_copy(pipeline: Pipeline, node: str, table: TableName, **seen: str) -> None:
    """`seen` are the mark's column, type and value."""
    WatermarkCopy.objects.update_or_create(
        pipeline=pipeline,
        node=node,
        defaults={
            "workspace_id": pipeline.workspace_id,
            "schema": table.schema,
            "table": table.table,
            "seen_at": timezone.now(),
            **seen,
        },
    )


def find_copy(place: Place) -> WatermarkCopy | None:
    """What was last seen of this mark; nothing is said of another table's that the node loaded before."""
    table = place.key.table
    return WatermarkCopy.objects.filter(
        pipeline=place.pipeline, node=place.target.id, schema=table.schema, table=table.table
    ).first()


@dataclass(frozen=True, slots=True)
class SavedWatermark:
    """What the editor says of a node's mark without asking any database."""

    place: Place
    copy: WatermarkCopy | None


def saved_watermark(pipeline: Pipeline, node: str) -> SavedWatermark | None:
    """None for nodes that follow no mark in the newest version."""
    for place in places_of(pipeline):
        if place.target.id == node:
            return SavedWatermark(place, find_copy(place))
    return None


def _copy(place: Place, trouble: str) -> Watermark:
    copy = find_copy(place)
    if copy is None:
        return Watermark(place, place.column, "", None, None, trouble=trouble)
    return Watermark(place, copy.column, copy.type, copy.value or None, copy.seen_at, trouble=trouble)
