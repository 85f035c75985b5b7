"""Reads watermarks from their databases, with their history, or else the last known copy."""

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
from flowapp.watermarks.targets import WatermarkTarget, list_watermark_targets


@dataclass(frozen=True, slots=True)
class Watermark:
    """A watermark as people see it. `value` is None before the first load and after a reset; `trouble` says why this is
    only the copy of `seen_at`. `warnings` are to be known before it is set or reset."""

    target: WatermarkTarget
    column: str
    type: str
    value: str | None
    seen_at: datetime | None
    boundary_rows: int = 0
    changes: list[WatermarkChange] = field(default_factory=list)
    trouble: str = ""
    warnings: list[WatermarkDoubt] = field(default_factory=list)


def connection_of(target: WatermarkTarget) -> Connection:
    """The connection of the target's database; raises UnknownConnection."""
    return resolve(get_connection(target.pipeline.workspace, target.node.connection))


def get_watermark(target: WatermarkTarget) -> Watermark:
    """The watermark as it stands, which is copied; while its database does not answer, the copy."""
    try:
        return _read(target)
    except Failure as failure:
        return _copy(target, failure.message)


def _read(target: WatermarkTarget) -> Watermark:
    found = read_watermark(connection_of(target), target.key, node=target.node.id)
    changes, doubts, seen_at = found.changes, found.doubts, timezone.now()
    if found.stored is None:
        watermark = Watermark(target, target.column, "", None, seen_at, changes=changes, warnings=doubts)
    else:
        column, kind, value = found.stored.column, found.stored.type, found.stored.value
        watermark = Watermark(target, column, kind, value, seen_at, found.boundary_rows, changes, warnings=doubts)
    seen = {"column": watermark.column, "type": watermark.type, "value": watermark.value or ""}
    keep_copy(target.pipeline, target.node.id, target.key.table, **seen)
    return watermark


def keep_copy(pipeline: Pipeline, node: str, table: TableName, **seen: str) -> None:
    """`seen` are the watermark's column, type and value."""
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


def find_copy(target: WatermarkTarget) -> WatermarkCopy | None:
    """What was last seen of this watermark; nothing is said of another table's that the node loaded before."""
    table = target.key.table
    return WatermarkCopy.objects.filter(
        pipeline=target.pipeline, node=target.node.id, schema=table.schema, table=table.table
    ).first()


@dataclass(frozen=True, slots=True)
class SavedWatermark:
    """What the editor says of a node's watermark without asking any database."""

    target: WatermarkTarget
    copy: WatermarkCopy | None


def saved_watermark(pipeline: Pipeline, node: str) -> SavedWatermark | None:
    """None for nodes that follow no watermark in the newest version."""
    for target in list_watermark_targets(pipeline):
        if target.node.id == node:
            return SavedWatermark(target, find_copy(target))
    return None


def _copy(target: WatermarkTarget, trouble: str) -> Watermark:
    copy = find_copy(target)
    if copy is None:
        return Watermark(target, target.column, "", None, None, trouble=trouble)
    return Watermark(target, copy.column, copy.type, copy.value or None, copy.seen_at, trouble=trouble)
