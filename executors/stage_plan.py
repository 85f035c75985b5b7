"""Determines which columns a load sends and in which types: by name, checked against the table before the source is
read."""

from __future__ import annotations

from collections.abc import Sequence

from executors.errors import Terminal
from executors.model import Destination, DestinationColumn, SourceField, StageColumn
from executors.table_name import quoted
from ir.load_modes import load_mode
from ir.names import SYSTEM_COLUMNS
from ir.nodes.target import Target
from ir.ordering import has_order
from ir.types import ColumnType

SOURCE_FILE_HASH, FLOW_RUN, SOURCE_RECORD = "_source_file_hash", "_flow_run", "_source_record"
TASK, FILE, RECORD = "_flow_task", "_flow_file", "_flow_record"
HIDDEN = {TASK: "bigint", FILE: "integer", RECORD: "bigint"}
"""Columns of every staging row in addition to its values: Spark's taskAttemptId, file (position in the source's order)
and record number."""

FILLED = {SOURCE_FILE_HASH: "text", FLOW_RUN: "uuid", SOURCE_RECORD: "bigint"}
"""Target columns that the load fills itself if the table has them; tables that Flow creates do. They are the SHA-256 of
the row's file, the run that last wrote the row, and the row's number in its file."""


def plan_stage_columns(
    target: Target, working: Sequence[SourceField], dest: Destination, *, is_new: bool = False
) -> tuple[StageColumn, ...]:
    """Return the staging columns for the working columns, in the types of the table. Raises Terminal for columns that
    cannot be loaded.

    `is_new` means that this run creates the table, from the target's declared columns or else from the working columns.
    """
    for field in working:
        _require_known(target, field.name, dest, is_new=is_new)
    _require_filled(target, {f.name for f in working}, dest)
    key = frozenset(target.upsert_key or ()) if target.load_mode == "upsert" else frozenset()
    if key:
        _require_key(target, key, {f.name for f in working}, dest)
    watermark = _watermark_columns(target, {f.name for f in working})
    found = ((f, dest.column(f.name)) for f in working)
    placed = watermark if key in dest.null_keys else key | watermark
    return tuple(_stage_column(f, c, target, placed=c.name in placed) for f, c in found if c is not None)


def _watermark_columns(target: Target, given: set[str]) -> frozenset[str]:
    """Return the column that an incremental load follows. The source must have it."""
    if not load_mode(target.load_mode).keeps_watermark:
        return frozenset()
    if target.watermark_column not in given:
        raise Terminal(
            "watermark.column_unknown",
            f"The target follows {target.watermark_column!r}, which the source does not have.",
            node=target.id,
            hint=f"Columns: {', '.join(sorted(given))}.",
        )
    return frozenset({target.watermark_column})


def _stage_column(field: SourceField, column: DestinationColumn, target: Target, *, placed: bool) -> StageColumn:
    # A value in the column's own PostgreSQL type need not fit a type of Flow: PostgreSQL parses it.
    is_native = field.type == ColumnType("pg", pg_name=column.declared)
    kind = field.type if is_native else column.type
    # A NULL in a key never conflicts, so every run would insert the row again. Key columns are therefore not nullable,
    # unless the index treats NULLs as equal. The watermark column is not nullable either: a NULL is neither below nor
    # above a watermark.
    nullable = column.nullable and not placed
    # '' is not changed if a text column of the table is NOT NULL. In a nullable key column it becomes NULL, which is
    # refused.
    empty_as_null = target.empty_as_null and (column.nullable or column.type.kind != "string")
    return StageColumn(column.name, kind, nullable, column.max_length, empty_as_null, is_native)


def require_no_system_name(name: str, node: str) -> None:
    if name in SYSTEM_COLUMNS:
        raise Terminal(
            "target.column_reserved",
            f"The source has a column {name!r}, which is the name of a system column in every PostgreSQL table, so "
            "no table can have it.",
            node=node,
            hint="Rename or drop it in a transform.",
        )


def _require_known(target: Target, name: str, dest: Destination, *, is_new: bool) -> None:
    table = f"{dest.schema}.{dest.table}"
    require_no_system_name(name, target.id)
    if name in FILLED or name in HIDDEN:
        raise Terminal(
            "target.column_reserved",
            f"The source has a column {name!r}, a name that Flow fills itself.",
            node=target.id,
            hint="Rename or drop it in a transform.",
        )
    column = dest.column(name)
    if column is None:
        raise Terminal(
            "target.column_unknown",
            f"{table} has no column {name!r}. It has {', '.join(c.name for c in dest.columns) or 'none'}.",
            node=target.id,
            hint=_unknown_hint(name, dest, is_new=is_new),
        )
    if column.generated:
        raise Terminal(
            "target.column_generated",
            f"{table} computes column {name!r} itself, so it cannot be loaded.",
            node=target.id,
            hint="Drop the column in a transform.",
        )


def _unknown_hint(name: str, dest: Destination, *, is_new: bool) -> str:
    alike = next((c.name for c in dest.columns if c.name.lower() == name.lower()), None)
    if alike:
        return f"The table has {alike!r}. Rename the column in a transform."
    if is_new:
        return "Flow creates the table from the target's columns: add it to them, or drop or rename it in a transform."
    return f"Drop or rename it in a transform, or ALTER TABLE {quoted(dest.schema, dest.table)} ADD COLUMN it."


def _require_filled(target: Target, given: set[str], dest: Destination) -> None:
    for column in dest.columns:
        optional = column.nullable or column.has_default or column.generated or column.name in FILLED
        if column.name not in given and not optional:
            raise Terminal(
                "target.column_required",
                f"{dest.schema}.{dest.table} needs a value in column {column.name!r} (NOT NULL, no default), "
                "and the source has no such column.",
                node=target.id,
                hint="Derive it in a transform, or add a default to the column.",
            )


def _require_key(target: Target, key: frozenset[str], given: set[str], dest: Destination) -> None:
    names = ", ".join(target.upsert_key or ())
    if missing := sorted(key - given):
        raise Terminal(
            "upsert.key_unknown",
            f"The upsert key names {', '.join(missing)}, which the source does not have.",
            node=target.id,
            hint=f"Columns: {', '.join(sorted(given))}.",
        )
    if key not in dest.unique_keys:
        raise Terminal(
            "upsert.key_not_unique",
            f"{dest.schema}.{dest.table} has no unique index on exactly ({names}). One that is partial, deferrable, "
            "invalid or on expressions does not count.",
            node=target.id,
            hint=f"CREATE UNIQUE INDEX ON {quoted(dest.schema, dest.table)} "
            f"({', '.join(quoted(n) for n in target.upsert_key or ())});",
        )
    order = target.order_by or target.watermark_column
    if order is not None and order not in given:
        raise Terminal(
            "upsert.order_unknown",
            f"Rows with the same key are ordered by {order!r}, which the source does not have.",
            node=target.id,
            hint=f"Columns: {', '.join(sorted(given))}.",
        )
    column = dest.column(order) if order is not None else None
    if column is not None and not has_order(column.type):
        raise Terminal(
            "upsert.order_unordered",
            f"{order!r} is {column.declared}, which has no order, so the newer of two rows is unknown.",
            node=target.id,
            hint="Name a column of a number, a date, a time stamp or a text in orderBy.",
        )
    if given <= key:
        raise Terminal(
            "upsert.key_covers_all",
            f"All columns of the source are in the upsert key ({names}), so there is nothing to update.",
            node=target.id,
            hint="Use load mode append, or shorten the key.",
        )
