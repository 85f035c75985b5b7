"""The range of an incremental load: its watermark, and the bound below which rows are skipped."""

from __future__ import annotations

from dataclasses import dataclass

from psycopg import sql

from executors.errors import Terminal, Transient
from executors.model import Destination
from executors.postgres.client import translate
from executors.postgres.ddl import Conn, brief_transaction
from executors.postgres.fences import has_chunk_fences
from executors.postgres.inspect import inspect_target
from executors.postgres.names import identifier_of, own_rows_of
from executors.postgres.watermark_types import WatermarkType, watermark_type
from executors.postgres.watermarks import StoredWatermark, WatermarkKey, find_watermark
from executors.table_name import TableName
from ir.nodes import Target
from ir.watermarks import Lag, lag_fault, parse_lag


@dataclass(frozen=True, slots=True)
class IncrementalRange:
    """The range of an incremental load.

    `watermark` is the stored watermark, else the highest value of the table, else None. `bound` is the watermark minus
    the lag: a source that can filter need not return rows below it. Both are texts of the watermark's type. `is_known`
    means that the stored hashes cover all rows from the bound on, so that the table need not be read. `may_miss_rows`
    means that the table is read and row security may hide rows from the connection's user. `is_ahead` means that the
    watermark is later than the database's clock, for example because it was stored under another clock."""

    key: WatermarkKey
    column: str
    type: WatermarkType
    lag: Lag | None
    stored: StoredWatermark | None
    watermark: str | None
    bound: str | None
    is_known: bool
    may_miss_rows: bool = False
    is_ahead: bool = False

    def value(self, text: str | None) -> sql.Composed:
        return self.type.literal(text)


@translate()
def open_range(conn: Conn, tenant: str, pipeline: str, target: Target) -> IncrementalRange | None:
    """Return the range of a target; None while the table does not exist. Raises Terminal if the stored watermark does
    not fit the table."""
    key = WatermarkKey(tenant, pipeline, TableName(target.schema_, target.table))
    dest = inspect_target(conn, target.schema_, target.table)
    with brief_transaction(conn):
        stored = find_watermark(conn, key)
        if dest is None:
            _require_none(stored, target)
            return None
        kind, lag = type_of(target, dest), lag_of(target, dest)
        if stored is not None:
            _require_same(stored, kind, target)
        elif has_chunk_fences(conn, tenant, pipeline, target.id):
            raise _unfinished(target)
        column = str(target.watermark_column)
        watermark = (
            stored.value
            if stored is not None
            else first_watermark(conn, own_rows_of(key.table, dest.kind), column, kind)
        )
        bound, is_known = _bound(conn, kind, watermark, lag, stored)
        may_miss_rows = not is_known and _has_row_security(conn, key.table)
        is_ahead = stored is not None and _is_ahead(conn, kind, stored.value)
    return IncrementalRange(key, column, kind, lag, stored, watermark, bound, is_known, may_miss_rows, is_ahead)


def first_range(tenant: str, pipeline: str, target: Target, dest: Destination) -> IncrementalRange:
    """Return the range of a table that does not exist yet. `dest` describes that table."""
    key = WatermarkKey(tenant, pipeline, TableName(target.schema_, target.table))
    kind, lag = type_of(target, dest), lag_of(target, dest)
    return IncrementalRange(key, str(target.watermark_column), kind, lag, None, None, None, is_known=False)


def require_unmoved(conn: Conn, rows_range: IncrementalRange) -> None:
    """Lock the watermark until the open transaction ends. Raises Transient if it has changed since it was read."""
    now = find_watermark(conn, rows_range.key, lock=True)
    if (now and now.revision) != (rows_range.stored and rows_range.stored.revision) or (now and now.id) != (
        rows_range.stored and rows_range.stored.id
    ):
        raise Transient(
            "watermark.moved",
            f"The watermark of {rows_range.key.table} was set or reset during this load. The target was not loaded.",
            hint="The next attempt begins at the new watermark.",
        )


def _has_row_security(conn: Conn, table: TableName) -> bool:
    row = conn.execute("SELECT row_security_active(%s)", [identifier_of(table).as_string(conn)]).fetchone()
    return bool(row and row[0])


def highest_in_table(
    conn: Conn, rows: sql.Composed, column: str, kind: WatermarkType, *, within_reach: bool = False
) -> str | None:
    """Return the highest value of a column as text. With `within_reach`, values that the watermark does not follow are
    ignored."""
    value = kind.of(sql.Identifier("x", column))
    condition = sql.SQL("NOT {}").format(kind.is_ahead(value)) if within_reach else sql.SQL("true")
    row = conn.execute(sql.SQL("SELECT max({})::text FROM {} AS x WHERE {}").format(value, rows, condition)).fetchone()
    return row[0] if row else None


def first_watermark(conn: Conn, rows: sql.Composed, column: str, kind: WatermarkType) -> str | None:
    """Return the first watermark of a table with rows; None if no row has a value."""
    highest = highest_in_table(conn, rows, column, kind, within_reach=True)
    if highest is None and highest_in_table(conn, rows, column, kind) is not None:
        return kind.below_all
    return highest


def _is_ahead(conn: Conn, kind: WatermarkType, watermark: str) -> bool:
    row = conn.execute(sql.SQL("SELECT {}").format(kind.is_ahead(kind.literal(watermark)))).fetchone()
    return bool(row and row[0])


def _bound(
    conn: Conn, kind: WatermarkType, watermark: str | None, lag: Lag | None, stored: StoredWatermark | None
) -> tuple[str | None, bool]:
    """Return the bound of a watermark, and whether hashes of the rows from there on are stored. Rows from the cut of a
    backfill on are not loaded yet, so the bound is not above it."""
    if watermark is None:
        return None, False
    known_from = stored.known_from if stored is not None else None
    query = sql.SQL("SELECT b.bound::text, coalesce(b.bound >= {0}, false), least(b.bound, {0})::text").format(
        kind.literal(known_from)
    ) + sql.SQL(" FROM (SELECT {} AS bound) AS b").format(kind.minus(kind.literal(watermark), lag))
    bound, is_known, at_most_cut = conn.execute(query).fetchone() or (None, False, None)
    if stored is not None and stored.hashed is None:
        return at_most_cut, False
    return bound, is_known


def type_of(target: Target, dest: Destination) -> WatermarkType:
    column = dest.column(str(target.watermark_column))
    if column is None:
        raise Terminal(
            "watermark.column_unknown",
            f"{dest.schema}.{dest.table} has no column {target.watermark_column!r}.",
            node=target.id,
            hint=f"It has {', '.join(c.name for c in dest.columns) or 'none'}.",
        )
    return watermark_type(column, target.watermark_lead)


def lag_of(target: Target, dest: Destination) -> Lag | None:
    column = dest.column(str(target.watermark_column))
    if target.watermark_lag is None or column is None:
        return None
    lag = parse_lag(target.watermark_lag)
    if fault := lag_fault(lag, column.type):
        raise Terminal("watermark.lag_mismatch", fault, node=target.id, hint="Correct the target's watermarkLag.")
    return lag


def _require_none(stored: StoredWatermark | None, target: Target) -> None:
    """Refuse to start a new table at the watermark of the previous one: rows below it would never be loaded."""
    if stored is not None:
        raise Terminal(
            "target.table_gone",
            f"{target.schema_}.{target.table} does not exist, though its watermark says that rows up to "
            f"{stored.column} {stored.value} are loaded: the table was dropped or renamed.",
            node=target.id,
            hint="Restore the table, or reset the watermark to fill a new table from the start.",
        )


def _unfinished(target: Target) -> Terminal:
    return Terminal(
        "backfill.unfinished",
        f"A backfill has loaded chunks into {target.schema_}.{target.table} and has not ended. A load that begins at "
        "the highest value of the table would never load the chunks that are missing below it.",
        node=target.id,
        hint="Resume the backfill. To do without it, set the watermark to a value below which no row is missing.",
    )


def _require_same(stored: StoredWatermark, kind: WatermarkType, target: Target) -> None:
    if stored.column != target.watermark_column or not kind.can_follow(stored.type):
        raise Terminal(
            "watermark.changed",
            f"The stored watermark is of column {stored.column!r} ({stored.type}); the target now follows "
            f"{target.watermark_column!r} ({kind.name}). The old value does not apply to the new column.",
            node=target.id,
            hint="Reset the watermark to continue from the highest value of the table, or set it, with a reason.",
        )
