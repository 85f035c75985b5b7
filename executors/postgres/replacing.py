"""Loads the rows of a range again: a chunk of a rewind that adds rows first deletes those that this target has loaded
there; one that has keys leaves rows that the source has no more, and counts them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from psycopg import sql

from executors.errors import Terminal
from executors.load_record import RunRef
from executors.model import Destination, DestinationColumn
from executors.postgres.ddl import Conn
from executors.postgres.file_rows import require_no_cascade
from executors.postgres.inspect import require_privileges
from executors.postgres.names import identifier_of
from executors.stage_plan import FILLED, FLOW_RUN
from executors.table_name import TableName
from ir.words import counted


@dataclass(frozen=True, slots=True)
class ReplacedRange:
    """The rows of a table whose value of `column` is in [`lower`, `upper`), and whose columns of `partition` have the
    given values, all as texts. With `deletes`, those that runs of the same target have written are deleted before the
    load; otherwise those that the load has not written are counted after it."""

    column: str
    lower: str | None
    upper: str | None
    partition: Mapping[str, str | None]
    deletes: bool


def require_replaceable(conn: Conn, dest: Destination, node: str) -> None:
    """Refuse a table whose rows of a range cannot be distinguished from those of others, or cannot be deleted."""
    table = TableName(dest.schema, dest.table)
    column = dest.column(FLOW_RUN)
    if column is None or column.declared != FILLED[FLOW_RUN]:
        raise Terminal(
            "backfill.range_unknown",
            f"{table} has no column {FLOW_RUN}, so the rows that this pipeline has loaded cannot be replaced.",
            node=node,
            hint=f"Add the column {FLOW_RUN} uuid before the first load, or use upsert.",
        )
    require_privileges(conn, dest, ("DELETE", "SELECT"))
    require_no_cascade(conn, table)


def delete_range(conn: Conn, run: RunRef, dest: Destination, range_: ReplacedRange) -> int:
    """Delete the rows of a range in the caller's transaction, which has locked the table. Return their number."""
    require_replaceable(conn, dest, run.node)
    # A policy would hide rows; with this setting it raises an error.
    conn.execute("SET LOCAL row_security = off")
    table = TableName(dest.schema, dest.table)
    condition = sql.SQL("{} AND {}").format(_of_target(run), _in_range(dest, range_))
    deleted = conn.execute(sql.SQL("DELETE FROM {} AS t WHERE {}").format(identifier_of(table), condition)).rowcount
    if survived := _count(conn, dest, condition):
        raise Terminal(
            "backfill.rows_survived",
            f"{counted(survived, 'row')} of {table} could not be deleted because a trigger or a rule prevents it. "
            "Nothing was changed.",
            node=run.node,
            hint="Check the DELETE triggers and rules of the table.",
        )
    return deleted


def count_replaced(conn: Conn, run: RunRef, dest: Destination, range_: ReplacedRange) -> int:
    """Return how many rows `delete_range` would delete. Raises its errors."""
    require_replaceable(conn, dest, run.node)
    return _count(conn, dest, sql.SQL("{} AND {}").format(_of_target(run), _in_range(dest, range_)))


def count_left(conn: Conn, dest: Destination, range_: ReplacedRange, loaded: int) -> int:
    """Return how many rows of a range a load has not written, of which it has written `loaded`."""
    return max(_count(conn, dest, _in_range(dest, range_)) - loaded, 0)


def _count(conn: Conn, dest: Destination, condition: sql.Composable) -> int:
    statement = sql.SQL("SELECT count(*) FROM {} AS t WHERE {}")
    found = conn.execute(statement.format(identifier_of(TableName(dest.schema, dest.table)), condition)).fetchone()
    return found[0] if found else 0


def _of_target(run: RunRef) -> sql.Composed:
    return sql.SQL(
        "t.{} IN (SELECT c.run_id::uuid FROM flow_meta.load_commits AS c"
        " WHERE c.tenant = {} AND c.pipeline = {} AND c.node = {})"
    ).format(sql.Identifier(FLOW_RUN), sql.Literal(run.tenant), sql.Literal(run.pipeline), sql.Literal(run.node))


def _in_range(dest: Destination, range_: ReplacedRange) -> sql.Composed:
    parts: list[sql.Composable] = [sql.SQL("true")]
    column = _column(dest, range_.column)
    for text, comparison in ((range_.lower, "{} >= {}"), (range_.upper, "{} < {}")):
        if text is not None:
            value = sql.SQL("{}::{}").format(sql.Literal(text), sql.SQL(column.base))
            parts.append(sql.SQL(comparison).format(sql.Identifier("t", column.name), value))
    parts += [_equals(_column(dest, name), text) for name, text in range_.partition.items()]
    return sql.SQL(" AND ").join(parts)


def _equals(column: DestinationColumn, text: str | None) -> sql.Composed:
    name = sql.Identifier("t", column.name)
    if text is None:
        return sql.SQL("{} IS NULL").format(name)
    return sql.SQL("{} = {}::{}").format(name, sql.Literal(text), sql.SQL(column.declared))


def _column(dest: Destination, name: str) -> DestinationColumn:
    column = dest.column(name)
    if column is None:
        raise LookupError(f"{dest.schema}.{dest.table} has no column {name!r}")
    return column
