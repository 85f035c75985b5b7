"""Read watermarks and their history from their databases, or the last known copy."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from datetime import datetime

from django.utils import timezone

from executors.errors import Failure
from executors.model import Connection
from executors.target_database import (
    NO_WATERMARK,
    TableName,
    WatermarkChange,
    WatermarkDoubt,
    plan_watermark_move,
    read_watermark,
)
from flowapp.connections.target_databases import database_of
from flowapp.pipelines.models import Pipeline
from flowapp.watermarks.models import WatermarkCopy
from flowapp.watermarks.moves import describe_move
from flowapp.watermarks.targets import WatermarkTarget, list_watermark_targets
from ir.diagnostics import InvalidPipeline


@dataclass(frozen=True, slots=True)
class Watermark:
    """A watermark for display. `value` is None before the first load and after a reset; `trouble` says why this is only
    the copy of `seen_at`. `revision` is another text after each change, "" if only the copy is known. `next_run` says
    in sentences what the next load does, `warnings` describe the consequences of setting or resetting the watermark."""

    target: WatermarkTarget
    column: str
    type: str
    value: str | None
    seen_at: datetime | None
    boundary_rows: int = 0
    changes: list[WatermarkChange] = field(default_factory=list)
    trouble: str = ""
    warnings: list[WatermarkDoubt] = field(default_factory=list)
    revision: str = ""
    next_run: list[str] = field(default_factory=list)


def connection_of(target: WatermarkTarget) -> Connection:
    """Return the connection of the target's database; raises UnknownConnection."""
    return database_of(target.pipeline.workspace, target.node, "Watermarks are")


def get_watermark(target: WatermarkTarget) -> Watermark:
    """Read the watermark and store a copy; return the copy while the database cannot be reached."""
    try:
        watermark = _read(target)
    except Failure as failure:
        return _copy(target, failure.message)
    try:
        return replace(watermark, next_run=plan_next_run(target))
    except Failure as failure:
        return replace(watermark, next_run=[failure.message])


def plan_next_run(target: WatermarkTarget, value: str | None = None, *, resets: bool = False) -> list[str]:
    """Describe what the next load does with the watermark `value`, after a reset, or with the current watermark. Raises
    Failure."""
    tenant, pipeline = str(target.pipeline.workspace_id), target.pipeline.slug
    move = plan_watermark_move(connection_of(target), tenant, pipeline, target.node, value, resets=resets)
    return describe_move(move, target.column, reads_files=target.reads_files)


def _read(target: WatermarkTarget) -> Watermark:
    found = read_watermark(connection_of(target), target.key, node=target.node.id)
    changes, doubts, seen_at = found.changes, found.doubts, timezone.now()
    if found.stored is None:
        watermark = Watermark(
            target, target.column, "", None, seen_at, changes=changes, warnings=doubts, revision=NO_WATERMARK
        )
    else:
        column, kind, value = found.stored.column, found.stored.type, found.stored.value
        watermark = Watermark(
            target,
            column,
            kind,
            value,
            seen_at,
            found.boundary_rows,
            changes,
            warnings=doubts,
            revision=found.stored.tag,
        )
    seen = {"column": watermark.column, "type": watermark.type, "value": watermark.value or ""}
    keep_copy(target.pipeline, target.node.id, target.key.table, **seen)
    return watermark


def keep_copy(pipeline: Pipeline, node: str, table: TableName, **seen: str) -> None:
    """Store a copy. `seen` is the watermark's column, type and value."""
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
    """Return the last copy of this watermark. A copy from another table, which the node loaded before, is ignored."""
    table = target.key.table
    return WatermarkCopy.objects.filter(
        pipeline=target.pipeline, node=target.node.id, schema=table.schema, table=table.table
    ).first()


@dataclass(frozen=True, slots=True)
class SavedWatermark:
    """What the editor shows of a node's watermark without querying a database."""

    target: WatermarkTarget
    copy: WatermarkCopy | None


def saved_watermark(pipeline: Pipeline, node: str) -> SavedWatermark | None:
    """Return None for nodes without a watermark in the newest version."""
    for target in list_watermark_targets(pipeline):
        if target.node.id == node:
            return SavedWatermark(target, find_copy(target))
    return None


def saved_watermarks(pipeline: Pipeline) -> list[SavedWatermark]:
    """Return the watermarks of all targets of the newest version; none if this version of Flow cannot parse it."""
    try:
        targets = list_watermark_targets(pipeline)
    except InvalidPipeline:
        return []
    return [SavedWatermark(target, find_copy(target)) for target in targets]


def _copy(target: WatermarkTarget, trouble: str) -> Watermark:
    copy = find_copy(target)
    if copy is None:
        return Watermark(target, target.column, "", None, None, trouble=trouble)
    return Watermark(target, copy.column, copy.type, copy.value or None, copy.seen_at, trouble=trouble)
