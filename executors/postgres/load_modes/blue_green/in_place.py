"""The alternative to a swap: DELETE and INSERT in one transaction. Readers see the old rows until it commits."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from psycopg import errors, sql

from executors.errors import Terminal
from executors.postgres.ddl import Conn
from executors.postgres.evolution import evolve
from executors.postgres.load_modes.append import insert_staged
from executors.postgres.load_modes.blue_green.referenced import still_referenced
from executors.postgres.load_plan import LoadPlan, ModeCounts
from executors.postgres.names import identifier_of
from executors.table_name import TableName

_INBOUND = """
SELECT n.nspname, k.conname FROM pg_constraint k JOIN pg_class c ON c.oid = k.conrelid
JOIN pg_namespace n ON n.oid = c.relnamespace
WHERE k.contype = 'f' AND k.confrelid = %s::regclass AND k.condeferrable"""


def delete_and_insert(conn: Conn, plan: LoadPlan) -> ModeCounts:
    plan.before_swap()
    # Before the rows are deleted: PostgreSQL alters no table with pending trigger events.
    plan = evolve(conn, plan)
    with rows_replaced(conn, plan.target, plan.run.node):
        return insert_staged(conn, plan)


@contextmanager
def rows_replaced(conn: Conn, table: TableName, node: str) -> Iterator[None]:
    """Delete all rows, so that the caller can insert others in the block. Deferrable foreign keys are checked at the
    end of the block."""
    # Writers would add rows that are neither deleted nor among the new ones. Readers are not blocked.
    conn.execute(sql.SQL("LOCK TABLE {} IN SHARE ROW EXCLUSIVE MODE").format(identifier_of(table)))
    keys = [sql.Identifier(*row) for row in conn.execute(_INBOUND, [identifier_of(table).as_string(conn)])]
    _set_constraints(conn, keys, "DEFERRED")
    conn.execute(sql.SQL("DELETE FROM {}").format(identifier_of(table)))
    _require_empty(conn, table, node)
    yield
    try:
        _set_constraints(conn, keys, "IMMEDIATE")
    except errors.ForeignKeyViolation as error:
        raise still_referenced(table, node, error) from error


def _set_constraints(conn: Conn, keys: list[sql.Identifier], when: str) -> None:
    if keys:
        conn.execute(sql.SQL("SET CONSTRAINTS {} {}").format(sql.SQL(", ").join(keys), sql.SQL(when)))


def _require_empty(conn: Conn, table: TableName, node: str) -> None:
    row = conn.execute(sql.SQL("SELECT EXISTS (SELECT FROM {})").format(identifier_of(table))).fetchone()
    if row and row[0]:
        raise Terminal(
            "target.rows_survived",
            f"Some rows of {table} could not be deleted because a trigger prevents it. Nothing was changed.",
            node=node,
            hint="Check the BEFORE DELETE triggers, or use load mode truncate.",
        )
