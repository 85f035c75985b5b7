"""Changing marks: where they stand, with a reason that is kept."""

from __future__ import annotations

from executors.errors import Terminal
from executors.model import DestinationColumn, LoadCommit
from executors.postgres import watermarks
from executors.postgres.ddl import Conn
from executors.postgres.inspect import inspect_target
from executors.postgres.meta import ensure_meta
from executors.postgres.names import TableName
from flowapp.pipelines.models import Pipeline
from flowapp.watermarks.models import MarkCopy
from flowapp.watermarks.places import Place
from flowapp.watermarks.selectors import Mark, get_mark, keep_copy, reached
from ir.errors import FlowError


def set_mark(place: Place, value: str, reason: str, by: str) -> Mark:
    """Let the next load begin at that value. Raises FlowError for a value that is none of the column's type, for want
    of a reason, and Failure when the database cannot be asked or another load holds the table."""
    _require_reason(reason)
    with reached(place) as conn:
        ensure_meta(conn)
        column, lead = _column(conn, place), place.target.watermark_lead
        watermarks.set_mark(conn, place.key, column, value, by=by, reason=reason.strip(), lead=lead)
    return get_mark(place)


def reset_mark(place: Place, reason: str, by: str) -> Mark:
    """Let the next load begin at the highest value of the table, as a first one does. Raises as `set_mark` does."""
    _require_reason(reason)
    with reached(place) as conn:
        ensure_meta(conn)
        watermarks.reset_mark(conn, place.key, by=by, reason=reason.strip())
    return get_mark(place)


def copy_mark(pipeline: Pipeline, commit: LoadCommit) -> None:
    """Copy where a load has left its mark, if it has one; or where a restore has put it, which may be nowhere."""
    mark = commit.counts.get("mark")
    if mark:
        keep_copy(pipeline, commit.node, TableName(*commit.counts["table"]["name"]), **mark)
    elif "restored" in commit.counts:
        MarkCopy.objects.filter(pipeline=pipeline, node=commit.node).delete()


def _require_reason(reason: str) -> None:
    if not reason.strip():
        raise FlowError("watermark.reason_required", "Changing a mark needs a reason.", hint="Say why; it is kept.")


def _column(conn: Conn, place: Place) -> DestinationColumn:
    table = place.key.table
    dest = inspect_target(conn, table.schema, table.table)
    column = dest.column(place.column) if dest else None
    if column is None:
        raise Terminal(
            "watermark.column_missing",
            f"{table} has no column {place.column!r}." if dest else f"The table {table} does not exist.",
            node=place.target.id,
            hint="Run the pipeline once to make the table; its first load takes all rows.",
        )
    return column
