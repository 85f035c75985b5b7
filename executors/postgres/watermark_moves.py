"""Determines where the next load begins, now or after a change of the watermark."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import psycopg
from psycopg import sql

from executors.errors import Terminal
from executors.model import Destination
from executors.postgres.client import translate
from executors.postgres.ddl import Conn
from executors.postgres.incremental_range import first_watermark, lag_of, type_of
from executors.postgres.inspect import inspect_target
from executors.postgres.names import own_rows_of
from executors.postgres.watermark_types import WatermarkType
from executors.postgres.watermarks import WatermarkKey, find_watermark, has_watermarks, read_value
from executors.table_name import TableName
from ir.nodes import Target
from ir.watermarks import Lag

COUNT_SECONDS = 3
Direction = Literal["unchanged", "back", "forward", "incomparable"]


@dataclass(frozen=True, slots=True)
class WatermarkMove:
    """The next load begins at `bound`, the watermark `new` minus the lag; None if it reads all rows. `old` is the
    current watermark; the direction is `incomparable` if it belongs to another column or type. `table_rows` is the
    number of rows in the table at or above the bound; None without a change, and if they could not be counted in
    time."""

    direction: Direction
    old: str | None
    new: str | None
    bound: str | None
    table_rows: int | None


@translate()
def plan_move(
    conn: Conn, tenant: str, pipeline: str, target: Target, value: str | None = None, *, resets: bool = False
) -> WatermarkMove | None:
    """Return the effect of setting the watermark to `value`, or of resetting it, on the next load. Without either,
    return where the next load begins now. Return None while the table does not exist. Raises Terminal for a value that
    cannot be set."""
    table = TableName(target.schema_, target.table)
    dest = inspect_target(conn, table.schema, table.table)
    if dest is None:
        return None
    kind, lag, column = type_of(target, dest), lag_of(target, dest), str(target.watermark_column)
    with conn.transaction():
        conn.execute("SELECT set_config('statement_timeout', %s, true)", [f"{COUNT_SECONDS}s"])
        key = WatermarkKey(tenant, pipeline, table)
        stored = find_watermark(conn, key) if has_watermarks(conn) else None
        highest = None
        if stored is None or resets:
            highest = first_watermark(conn, own_rows_of(table, dest.kind), column, kind)
        follows = stored is None or (stored.column == column and kind.can_follow(stored.type))
        old = stored.value if stored and follows else highest if follows else None
        new = _new(conn, target, dest, kind, value) if value is not None else highest if resets else old
        direction, bound = _compare(conn, kind, lag, old, new)
        asks_table = bound is not None and (value is not None or resets)
        rows = _count_rows(conn, dest, column, kind, bound) if asks_table and bound is not None else None
    return WatermarkMove(direction if follows else "incomparable", old, new, bound, rows)


def _new(conn: Conn, target: Target, dest: Destination, kind: WatermarkType, value: str) -> str:
    column = dest.column(str(target.watermark_column))
    if column is None:
        raise Terminal("watermark.column_unknown", f"No column {target.watermark_column!r}.", node=target.id)
    return read_value(conn, column, kind, value)


def _compare(
    conn: Conn, kind: WatermarkType, lag: Lag | None, old: str | None, new: str | None
) -> tuple[Direction, str | None]:
    if new is None:
        return ("unchanged" if old is None else "back"), None
    query = sql.SQL(
        "SELECT CASE WHEN {new} < {old} THEN 'back' WHEN {new} > {old} THEN 'forward' ELSE 'unchanged' END,"
        " ({bound})::text"
    ).format(new=kind.literal(new), old=kind.literal(old), bound=kind.minus(kind.literal(new), lag))
    row = conn.execute(query).fetchone()
    if row is None:
        raise LookupError("the watermarks were not compared")
    return ("forward" if old is None else row[0]), row[1]


def _count_rows(conn: Conn, dest: Destination, column: str, kind: WatermarkType, bound: str) -> int | None:
    rows = own_rows_of(TableName(dest.schema, dest.table), dest.kind)
    query = sql.SQL("SELECT count(*) FROM {} AS x WHERE {} >= {}").format(
        rows, kind.of(sql.Identifier("x", column)), kind.literal(bound)
    )
    try:
        with conn.transaction():
            row = conn.execute(query).fetchone()
    except psycopg.errors.QueryCanceled:
        return None
    return row[0] if row else None
