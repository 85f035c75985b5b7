"""Reads and changes watermarks for users."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from executors.errors import Terminal
from executors.model import Connection, DestinationColumn
from executors.postgres import filled, watermark_moves, watermarks
from executors.postgres.client import Session
from executors.postgres.inspect import inspect_target
from executors.postgres.meta import ensure_meta
from executors.postgres.watermark_doubts import WatermarkDoubt, list_doubts
from executors.postgres.watermark_moves import WatermarkMove
from executors.postgres.watermarks import StoredWatermark, WatermarkChange, WatermarkKey
from executors.target_database.session import open_session
from ir.nodes import Target

TIMEOUT_SECONDS = 5


@dataclass(frozen=True, slots=True)
class Watermark:
    """The current watermark. `stored` is None before the first load and after a reset; `boundary_rows` is the number of
    rows with its value that are known by their hashes. `doubts` are warnings before a change."""

    stored: StoredWatermark | None
    boundary_rows: int
    changes: list[WatermarkChange]
    doubts: list[WatermarkDoubt]


def read_watermark(connection: Connection, key: WatermarkKey, *, node: str) -> Watermark:
    """Read a watermark without creating tables. Raises Failure of `node`."""
    with _reach(connection, node) as session:
        known = watermarks.has_watermarks(session)
        stored = watermarks.find_watermark(session, key) if known else None
        return Watermark(
            stored,
            watermarks.count_boundary_rows(session, stored) if stored else 0,
            watermarks.list_changes(session, key) if known else [],
            list_doubts(session, inspect_target(session, key.table.schema, key.table.table)),
        )


def describe_content(connection: Connection, key: WatermarkKey, *, node: str) -> str:
    """Return what a table has, in words, so that a load of the whole history would add rows to others; "" if it has
    nothing. Raises Failure of `node`."""
    with _reach(connection, node) as session:
        return filled.describe_content(session, key)


def set_watermark(
    connection: Connection,
    key: WatermarkKey,
    column: str,
    value: str,
    *,
    node: str,
    by: str,
    reason: str,
    lead: str | None,
    expected: str | None = None,
) -> None:
    """Set the watermark, so that the next load begins at `value`. Raises Failure of `node`: for a missing column, for a
    value that does not fit its type, if the watermark has another tag than `expected`, and if the database cannot be
    reached or another load has locked the table."""
    with _reach(connection, node) as session:
        ensure_meta(session)
        found = _column(session, key, column, node)
        watermarks.set_watermark(session, key, found, value, by=by, reason=reason, lead=lead, expected=expected)


def reset_watermark(
    connection: Connection, key: WatermarkKey, *, node: str, by: str, reason: str, expected: str | None = None
) -> None:
    """Reset the watermark, so that the next load begins at the highest value of the table. Raises Failure of `node`, as
    `set_watermark`."""
    with _reach(connection, node) as session:
        ensure_meta(session)
        watermarks.reset_watermark(session, key, by=by, reason=reason, expected=expected)


def plan_watermark_move(
    connection: Connection, tenant: str, pipeline: str, target: Target, value: str | None, *, resets: bool
) -> WatermarkMove | None:
    """Return the effect of a change of the watermark on the next load; None while the table does not exist. Raises
    Failure of the target, also at the time limit. Changes nothing."""
    with _reach(connection, target.id) as session:
        return watermark_moves.plan_move(session, tenant, pipeline, target, value, resets=resets)


@contextmanager
def _reach(connection: Connection, node: str) -> Iterator[Session]:
    with open_session(connection, node=node, timeout=TIMEOUT_SECONDS) as session:
        yield session


def _column(session: Session, key: WatermarkKey, name: str, node: str) -> DestinationColumn:
    dest = inspect_target(session, key.table.schema, key.table.table)
    column = dest.column(name) if dest else None
    if column is None:
        raise Terminal(
            "watermark.column_missing",
            f"{key.table} has no column {name!r}." if dest else f"The table {key.table} does not exist.",
            node=node,
            hint="Run the pipeline once to create the table. The first load reads all rows.",
        )
    return column
