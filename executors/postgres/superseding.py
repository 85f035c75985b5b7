"""Rejected rows that need no decision any more because of a later load: it has replaced all rows of the target, has
read their file again, has loaded the one row of the source that several runs have rejected, or has a newer version."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from psycopg import sql

from executors.load_record import LoadFile, RunRef
from executors.postgres.ddl import Conn
from executors.postgres.names import identifier_of
from executors.postgres.quarantined import Change, Owner, change_rows
from executors.postgres.read_again import files_read_again, joins_by_hash, tables_read_before, units_of
from executors.rejected_rows import RejectedRow
from executors.table_name import TableName

SUPERSEDED = "superseded"

_SUPERSEDE = """
UPDATE {table} SET status = {superseded}, "supersededBy" = {by}, revision = revision + 1
WHERE tenant = {tenant} AND "pipelineId" = {pipeline} AND "targetNode" = {node} AND "runId" <> {by}
AND status IN ('open', 'fixed') AND disposition <> 'not_loaded'"""

_SUPERSEDE_EARLIER = """
UPDATE {table} AS q SET status = {superseded}, "supersededBy" = {by}, revision = revision + 1
WHERE tenant = {tenant} AND "pipelineId" = {pipeline} AND "targetNode" = {node}
AND status IN ('open', 'fixed') AND disposition <> 'not_loaded' AND {condition}"""
"""Also entries of the same run: they are those of its earlier windows."""

_OF_FILES = """
AND ("runId", "sourceFile", coalesce("sourceNode", '')) IN
(SELECT run_id, name_then, source_then FROM ({files}) AS files)"""

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
    """The number of entries that a load has superseded, and their tables."""

    entries: int = 0
    tables: tuple[str, ...] = ()


def supersede_replaced(conn: Conn, run: RunRef, tables: Iterable[str]) -> Superseded:
    """Supersede the rejected rows of earlier runs for a target whose rows this run replaces, in its transaction.
    `tables` are the quarantine tables of this run; earlier runs may have used others."""
    return _close(conn, (*tables, *_tables_before(conn, run)), lambda table: _of(run, table, _SUPERSEDE))


def supersede_read_again(conn: Conn, run: RunRef, files: Sequence[LoadFile], united: Sequence[str] = ()) -> Superseded:
    """Supersede the rejected rows of earlier runs from files that this run has read again, in its transaction.
    Otherwise each row would be listed twice, and a replay could load a row that this run has loaded. `united` are the
    source nodes of the target if it has several."""
    units = units_of(files)

    def statement(table: str) -> sql.Composed:
        again = files_read_again(run, TableName.parse(table), units, united)
        return _of(run, table, _SUPERSEDE + _OF_FILES, files=again)

    with joins_by_hash(conn):
        return _close(conn, tables_read_before(conn, run, units), statement)


def supersede_all(conn: Conn, run: RunRef, tables: Iterable[str]) -> Superseded:
    """Supersede all rejected rows of earlier loads of the target, also of earlier windows of this run."""
    return supersede_where(conn, run, tables, sql.SQL("true"))


def supersede_where(conn: Conn, run: RunRef, tables: Iterable[str], condition: sql.Composable) -> Superseded:
    """Supersede the rejected rows `q` of earlier loads of the target that meet a condition, also of earlier windows of
    this run. `tables` are the quarantine tables of this run; earlier runs may have used others."""
    return _close(
        conn,
        (*tables, *_tables_before(conn, run)),
        lambda table: _of(run, table, _SUPERSEDE_EARLIER, condition=condition),
    )


def _close(conn: Conn, tables: Iterable[str], statement: Callable[[str], sql.Composed]) -> Superseded:
    written, entries = [], 0
    for name in dict.fromkeys(tables):
        if can_update(conn, TableName.parse(name)):
            closed = conn.execute(statement(name)).rowcount
            entries += closed
            written += [name] * bool(closed)
    return Superseded(entries, tuple(written))


def supersede_rows(
    conn: Conn, owner: Owner, run_id: str, tables: Iterable[TableName], rows: Sequence[RejectedRow]
) -> None:
    """Mark these rows as superseded by a run, in the caller's transaction."""
    sets = {"status": sql.Literal(SUPERSEDED), "supersededBy": sql.Literal(run_id)}
    change_rows(conn, owner, tables, rows, Change(("open", "fixed"), sets, only_dropped=True))


def reopen_superseded(conn: Conn, run: RunRef, run_ids: Sequence[str], tables: Iterable[str]) -> None:
    """Reset the rows that undone runs superseded to their previous status; in the caller's transaction."""
    _change(conn, run, run_ids, tables, _REOPEN)


def supersede_again(conn: Conn, run: RunRef, run_ids: Sequence[str], tables: Iterable[str]) -> None:
    """Supersede these rows again, for runs that count again."""
    _change(conn, run, run_ids, tables, _AGAIN)


def _change(conn: Conn, run: RunRef, run_ids: Sequence[str], tables: Iterable[str], change: str) -> None:
    for name in tables:
        if can_update(conn, TableName.parse(name)):
            conn.execute(_of(run, name, change, runs=list(run_ids)))


def _of(run: RunRef, table: str, statement: str, **values: object) -> sql.Composed:
    """Return a statement with literals or other SQL: with parameters, psycopg would interpret a % in the name of a
    table."""
    whose = {"tenant": run.tenant, "pipeline": run.pipeline, "node": run.node, "by": run.run_id}
    given = {**whose, "superseded": SUPERSEDED, **values}
    literals = {n: value if isinstance(value, sql.Composable) else sql.Literal(value) for n, value in given.items()}
    return sql.SQL(statement).format(table=identifier_of(TableName.parse(table)), **literals)


def _tables_before(conn: Conn, run: RunRef) -> list[str]:
    """Return the quarantine tables of all runs that have loaded the target."""
    rows = conn.execute(
        "SELECT DISTINCT t.name FROM flow_meta.load_commits AS c"
        " CROSS JOIN unnest(c.reject_tables) AS t(name)"
        " WHERE c.tenant = %s AND c.pipeline = %s AND c.node = %s AND c.kind <> 'replay' ORDER BY 1",
        [run.tenant, run.pipeline, run.node],
    ).fetchall()
    return [name for (name,) in rows]


def can_update(conn: Conn, name: TableName) -> bool:
    """Return whether entries of the quarantine table can be updated. A table that is missing, has been replaced by
    another kind of table, or is not writable for the connection's user must not make a load fail."""
    row = conn.execute(
        "SELECT has_table_privilege(a.attrelid, 'UPDATE') FROM pg_attribute AS a"
        " WHERE a.attrelid = to_regclass(%s) AND a.attname = 'supersededBy' AND NOT a.attisdropped",
        [identifier_of(name).as_string(conn)],
    ).fetchone()
    return bool(row and row[0])
