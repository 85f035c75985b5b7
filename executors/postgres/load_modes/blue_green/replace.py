"""The other way: DELETE and INSERT in one transaction. Readers see the old rows until it commits."""

from __future__ import annotations

from psycopg import errors, sql

from executors.errors import Terminal
from executors.postgres.ddl import Conn
from executors.postgres.load_modes.append import insert_staged
from executors.postgres.load_modes.blue_green.referenced import still_referenced
from executors.postgres.load_plan import LoadPlan, ModeCounts

_INBOUND = """
SELECT n.nspname, k.conname FROM pg_constraint k JOIN pg_class c ON c.oid = k.conrelid
JOIN pg_namespace n ON n.oid = c.relnamespace
WHERE k.contype = 'f' AND k.confrelid = %s::regclass AND k.condeferrable"""


def delete_and_insert(conn: Conn, plan: LoadPlan) -> ModeCounts:
    # Writers would add rows that are neither deleted nor staged; readers go on.
    conn.execute(sql.SQL("LOCK TABLE {} IN SHARE ROW EXCLUSIVE MODE").format(plan.target.identifier))
    keys = [sql.Identifier(*row) for row in conn.execute(_INBOUND, [plan.target.identifier.as_string(conn)])]
    _set_constraints(conn, keys, "DEFERRED")
    conn.execute(sql.SQL("DELETE FROM {}").format(plan.target.identifier))
    _require_empty(conn, plan)
    counts = insert_staged(conn, plan)
    try:
        _set_constraints(conn, keys, "IMMEDIATE")
    except errors.ForeignKeyViolation as error:
        raise still_referenced(plan, error) from error
    return counts


def _set_constraints(conn: Conn, keys: list[sql.Identifier], when: str) -> None:
    if keys:
        conn.execute(sql.SQL("SET CONSTRAINTS {} {}").format(sql.SQL(", ").join(keys), sql.SQL(when)))


def _require_empty(conn: Conn, plan: LoadPlan) -> None:
    row = conn.execute(sql.SQL("SELECT EXISTS (SELECT FROM {})").format(plan.target.identifier)).fetchone()
    if row and row[0]:
        raise Terminal(
            "target.rows_survived",
            f"Not all rows of {plan.target} could be deleted: a trigger of the table keeps them. Nothing was changed.",
            node=plan.run.node,
            hint="Look into the triggers that run before a row is deleted, or use load mode truncate.",
        )
