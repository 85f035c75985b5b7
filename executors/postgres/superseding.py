"""Rejected rows that need no decision any more because of a later run: it has replaced all rows of the target, has read
their file again, or has loaded the one row of the source that several runs have rejected."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import NamedTuple

from psycopg import sql

from executors.load_record import RunRef
from executors.postgres.ddl import Conn
from executors.postgres.load_plan import LoadFile
from executors.postgres.names import identifier_of
from executors.postgres.quarantined import Change, Owner, change_rows
from executors.rejected_rows import RejectedRow
from executors.rejects import row_id
from executors.table_name import TableName

SUPERSEDED = "superseded"

_SUPERSEDE = """
UPDATE {table} SET status = {superseded}, "supersededBy" = {by}, revision = revision + 1
WHERE tenant = {tenant} AND "pipelineId" = {pipeline} AND "targetNode" = {node} AND "runId" <> {by}
AND status IN ('open', 'fixed') AND disposition <> 'not_loaded'"""

_OF_FILES = """
AND ("runId", "sourceFile") IN (SELECT * FROM unnest({runs}::text[], {files}::text[]))"""

_FILES_OF = """
SELECT DISTINCT ON ("runId", "sourceFile") "runId", "sourceFile", "sourceRecord", "rowId" FROM {table}
WHERE tenant = {tenant} AND "pipelineId" = {pipeline} AND "targetNode" = {node} AND "runId" = ANY({runs}::text[])
AND "sourceFile" IS NOT NULL AND "sourceRecord" IS NOT NULL"""

_READ_BEFORE = """
SELECT run_id, reject_tables FROM flow_meta.load_commits
WHERE tenant = %s AND pipeline = %s AND node = %s AND run_id <> %s AND kind <> 'replay' AND undone_by IS NULL
AND files_done && %s::text[] AND reject_tables <> '{}'"""

_REOPEN = """
UPDATE {table} SET status = CASE WHEN "fixedRow" IS NULL THEN 'open' ELSE 'fixed' END, revision = revision + 1
WHERE tenant = {tenant} AND "pipelineId" = {pipeline} AND "targetNode" = {node} AND "supersededBy" = ANY({runs}::text[])
AND status = {superseded}"""

_AGAIN = """
UPDATE {table} SET status = {superseded}, revision = revision + 1
WHERE tenant = {tenant} AND "pipelineId" = {pipeline} AND "targetNode" = {node} AND "supersededBy" = ANY({runs}::text[])
AND status IN ('open', 'fixed') AND disposition <> 'not_loaded'"""


class FileReadAgain(NamedTuple):
    """A file with rows that an earlier run has rejected. Its content is the same, but its name may have changed."""

    run_id: str
    name_then: str
    name_now: str


@dataclass(frozen=True, slots=True)
class Superseded:
    """The number of entries that a load has superseded, and their tables. `files` are the files among them that it has
    read again."""

    entries: int = 0
    tables: tuple[str, ...] = ()
    files: tuple[FileReadAgain, ...] = ()


def supersede_replaced(conn: Conn, run: RunRef, tables: Iterable[str], files: Iterable[LoadFile]) -> Superseded:
    """Supersede the rejected rows of earlier runs for a target whose rows this run replaces, in its transaction.
    `tables` are the quarantine tables of this run; earlier runs may have used others."""
    again, _ = _find_read_again(conn, run, files)
    return _close(conn, run, (*tables, *_tables_before(conn, run)), _SUPERSEDE, again)


def supersede_read_again(conn: Conn, run: RunRef, files: Iterable[LoadFile]) -> Superseded:
    """Supersede the rejected rows of earlier runs from files that this run has read again, in its transaction.
    Otherwise each row would be listed twice, and a replay could load a row that this run has loaded."""
    again, tables = _find_read_again(conn, run, files)
    which = {"runs": [one.run_id for one in again], "files": [one.name_then for one in again]}
    return _close(conn, run, tables, _SUPERSEDE + _OF_FILES, again, **which)


def _find_read_again(
    conn: Conn, run: RunRef, files: Iterable[LoadFile]
) -> tuple[tuple[FileReadAgain, ...], tuple[str, ...]]:
    """Return the files that earlier runs have read, and the quarantine tables of these runs. A file is identified by
    its content, which is part of the ids of its rows."""
    units = {file.sha256: file.name for file in files if file.is_unit}
    if not units:
        return (), ()
    before = conn.execute(_READ_BEFORE, [run.tenant, run.pipeline, run.node, run.run_id, list(units)]).fetchall()
    tables = tuple(dict.fromkeys(name for _, names in before for name in names))
    by_name = {name: sha256 for sha256, name in units.items()}
    found: dict[FileReadAgain, None] = {}
    for table in tables:
        if not can_update(conn, TableName.parse(table)):
            continue
        rejected_of = conn.execute(_of(run, table, _FILES_OF, runs=[run_id for run_id, _ in before]))
        for run_id, name, record, its_id in rejected_of.fetchall():
            likely = [by_name[name]] if name in by_name else []
            known = (sha256 for sha256 in chain(likely, units) if row_id(run_id, run.node, sha256, record) == its_id)
            if sha256 := next(known, None):
                found[FileReadAgain(run_id, name, units[sha256])] = None
    return tuple(found), tables


def _close(
    conn: Conn, run: RunRef, tables: Iterable[str], statement: str, again: tuple[FileReadAgain, ...], **which: object
) -> Superseded:
    written, entries = [], 0
    for name in dict.fromkeys(tables):
        if can_update(conn, TableName.parse(name)):
            closed = conn.execute(_of(run, name, statement, by=run.run_id, **which)).rowcount
            entries += closed
            written += [name] * bool(closed)
    return Superseded(entries, tuple(written), again)


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
    """Return a statement with literals: with parameters, psycopg would interpret a % in the name of a table."""
    whose = {"tenant": run.tenant, "pipeline": run.pipeline, "node": run.node, "superseded": SUPERSEDED, **values}
    literals = {name: sql.Literal(value) for name, value in whose.items()}
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
