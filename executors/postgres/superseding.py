"""Rejected rows that nobody has to do anything about any more, for a run stands for them: it has replaced all that the
target held, or has loaded the one row of the source that several runs have rejected."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from psycopg import sql

from executors.load_record import RunRef
from executors.postgres.ddl import Conn
from executors.postgres.names import identifier_of
from executors.postgres.quarantined import Change, Owner, change_rows
from executors.rejected_rows import RejectedRow
from executors.table_name import TableName

SUPERSEDED = "superseded"

_SUPERSEDE = """
UPDATE {table} SET status = {superseded}, "supersededBy" = {by}, revision = revision + 1
WHERE tenant = {tenant} AND "pipelineId" = {pipeline} AND "targetNode" = {node} AND "runId" <> {by}
AND status IN ('open', 'fixed') AND disposition <> 'not_loaded'"""

_REOPEN = """
UPDATE {table} SET status = CASE WHEN "fixedRow" IS NULL THEN 'open' ELSE 'fixed' END, revision = revision + 1
WHERE tenant = {tenant} AND "pipelineId" = {pipeline} AND "targetNode" = {node} AND "supersededBy" = ANY({runs}::text[])
AND status = {superseded}"""

_AGAIN = """
UPDATE {table} SET status = {superseded}, revision = revision + 1
WHERE tenant = {tenant} AND "pipelineId" = {pipeline} AND "targetNode" = {node} AND "supersededBy" = ANY({runs}::text[])
AND status IN ('open', 'fixed') AND disposition <> 'not_loaded'"""


@dataclass(frozen=True, slots=True)
class Superseded:
    """How many entries a load has superseded, and where."""

    entries: int = 0
    tables: tuple[str, ...] = ()


def supersede_replaced(conn: Conn, run: RunRef, tables: Iterable[str]) -> Superseded:
    """Close what earlier runs have rejected on their way to a target whose rows this run replaces, in its transaction.
    `tables` keep what it rejects itself; earlier ones may have had others."""
    written, entries = [], 0
    for name in dict.fromkeys((*tables, *_tables_before(conn, run))):
        if can_update(conn, TableName.parse(name)):
            closed = conn.execute(_of(run, name, _SUPERSEDE, by=run.run_id)).rowcount
            entries += closed
            written += [name] * bool(closed)
    return Superseded(entries, tuple(written))


def supersede_rows(
    conn: Conn, owner: Owner, run_id: str, tables: Iterable[TableName], rows: Sequence[RejectedRow]
) -> None:
    """Close these rows as ones for which a run stands, in the caller's transaction."""
    sets = {"status": sql.Literal(SUPERSEDED), "supersededBy": sql.Literal(run_id)}
    change_rows(conn, owner, tables, rows, Change(("open", "fixed"), sets, only_dropped=True))


def reopen_superseded(conn: Conn, run: RunRef, run_ids: Sequence[str], tables: Iterable[str]) -> None:
    """Let the rows for which undone runs stood be as they were before; in the caller's transaction."""
    _change(conn, run, run_ids, tables, _REOPEN)


def supersede_again(conn: Conn, run: RunRef, run_ids: Sequence[str], tables: Iterable[str]) -> None:
    """The other way round, for runs that count again."""
    _change(conn, run, run_ids, tables, _AGAIN)


def _change(conn: Conn, run: RunRef, run_ids: Sequence[str], tables: Iterable[str], change: str) -> None:
    for name in tables:
        if can_update(conn, TableName.parse(name)):
            conn.execute(_of(run, name, change, runs=list(run_ids)))


def _of(run: RunRef, table: str, statement: str, **values: object) -> sql.Composed:
    """As literals: beside parameters a % in the name of a table would be taken for another one."""
    whose = {"tenant": run.tenant, "pipeline": run.pipeline, "node": run.node, "superseded": SUPERSEDED, **values}
    literals = {name: sql.Literal(value) for name, value in whose.items()}
    return sql.SQL(statement).format(table=identifier_of(TableName.parse(table)), **literals)


def _tables_before(conn: Conn, run: RunRef) -> list[str]:
    """The quarantine tables of all runs that have loaded the target."""
    rows = conn.execute(
        "SELECT DISTINCT t.name FROM flow_meta.load_commits AS c"
        " CROSS JOIN unnest(c.reject_tables) AS t(name)"
        " WHERE c.tenant = %s AND c.pipeline = %s AND c.node = %s AND c.kind <> 'replay' ORDER BY 1",
        [run.tenant, run.pipeline, run.node],
    ).fetchall()
    return [name for (name,) in rows]


def can_update(conn: Conn, name: TableName) -> bool:
    """Whether entries of the quarantine table can be updated. A table that is gone, that another kind of table has
    replaced, or that the connection's user may not change must not fail a load."""
    row = conn.execute(
        "SELECT has_table_privilege(a.attrelid, 'UPDATE') FROM pg_attribute AS a"
        " WHERE a.attrelid = to_regclass(%s) AND a.attname = 'supersededBy' AND NOT a.attisdropped",
        [identifier_of(name).as_string(conn)],
    ).fetchone()
    return bool(row and row[0])
