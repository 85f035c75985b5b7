"""Converts commit markers to rows of `flow_meta.load_commits` and back."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import fields
from typing import Any

from psycopg.types.json import Jsonb

from executors.load_record import LoadCommit, LoadCounts, LoadKind, LoadRecord, TableIdentity, WatermarkValue
from executors.model import SourceField
from ir.types import ColumnType


def _count_column(name: str) -> str:
    return name if name.startswith("quarantine_") else f"rows_{name}"


COUNT_COLUMNS = {f.name: _count_column(f.name) for f in fields(LoadCounts)}
"""The column of each field of `LoadCounts`."""


def row_of(commit: LoadCommit) -> dict[str, Any]:
    """Return the columns of a marker, except for those that name its owner and its time."""
    watermark = commit.watermark
    return {
        "run_id": commit.run_id,
        "node": commit.node,
        "attempt": commit.attempt,
        "token": commit.token,
        "kind": commit.kind.value,
        "load_mode": commit.load_mode,
        "target_schema": commit.table.schema,
        "target_table": commit.table.table,
        "target_oid": commit.table.oid,
        **{column: getattr(commit.counts, name) for name, column in COUNT_COLUMNS.items()},
        "watermark_column": watermark and watermark.column,
        "watermark_type": watermark and watermark.type,
        "watermark_value": watermark and watermark.value,
        "read_from": commit.read_from,
        "reject_tables": list(commit.reject_tables),
        "superseded_tables": list(commit.superseded_tables),
        "source_fields": Jsonb([_stored_field(field) for field in commit.source_fields]),
        "record": Jsonb(commit.record.to_json()),
        "hooks_done": list(commit.hooks_done),
        "files_done": list(commit.files_done),
    }


def commit_of(row: Mapping[str, Any]) -> LoadCommit:
    """Return the marker in a row. Raises Terminal `stored.version_unknown`."""
    column, kind, value = (row[f"watermark_{name}"] for name in ("column", "type", "value"))
    return LoadCommit(
        run_id=row["run_id"],
        node=row["node"],
        attempt=row["attempt"],
        token=row["token"],
        kind=LoadKind(row["kind"]),
        load_mode=row["load_mode"],
        table=TableIdentity(row["target_schema"], row["target_table"], row["target_oid"]),
        counts=LoadCounts(**{name: row[column] for name, column in COUNT_COLUMNS.items()}),
        watermark=None if value is None else WatermarkValue(column, kind, value),
        read_from=row["read_from"],
        reject_tables=tuple(row["reject_tables"]),
        superseded_tables=tuple(row["superseded_tables"]),
        source_fields=source_fields_of(row["source_fields"]),
        record=LoadRecord.from_json(row["record"]),
        hooks_done=tuple(row["hooks_done"]),
        files_done=tuple(row["files_done"]),
    )


def _stored_field(field: SourceField) -> list[str | bool]:
    return [field.name, str(field.type), field.as_text]


def source_fields_of(stored: Sequence[tuple[str, str, bool]]) -> tuple[SourceField, ...]:
    """Return the fields of a source from the column `source_fields`: name, type, and whether values are text."""
    return tuple(SourceField(name, ColumnType.parse(kind), as_text) for name, kind, as_text in stored)
