"""Stages the changes that are not rows: deleted keys, and rows without values that their updates have not changed."""

from __future__ import annotations

from psycopg import sql

from executors.changes import ChangesRead
from executors.errors import Transient
from executors.formats.files import BLOCK_BYTES
from executors.postgres.client import translate
from executors.postgres.ddl import Conn, body, create_table, ddl
from executors.postgres.staging import StagingTables, one_number

CHANGE, UNCHANGED = "change", "unchanged"


def key_column(place: int) -> sql.Identifier:
    """Return the column of one part of a key, whose places begin at 0."""
    return sql.Identifier(f"k{place}")


@translate()
def stage_beside(conn: Conn, tables: StagingTables, changes: ChangesRead) -> None:
    """Copy the file of the changes into a table beside the staging tables. A table of a crashed worker with the same
    name is replaced."""
    if changes.path is None or not _lines(changes):
        return
    columns = {CHANGE: "bigint", UNCHANGED: "integer[]", **{f"k{i}": "text" for i in range(len(changes.key))}}
    with ddl(conn):
        conn.execute(sql.SQL("DROP TABLE IF EXISTS {}").format(tables.beside))
        create_table(conn, tables.beside, body(columns), unlogged=True)
        conn.execute(sql.SQL("COMMENT ON TABLE {} IS {}").format(tables.beside, sql.Literal(tables.owner)))
    statement = sql.SQL("COPY {} FROM STDIN (FORMAT csv)").format(tables.beside)
    with changes.path.open("rb") as file, conn.transaction(), conn.cursor().copy(statement) as copy:
        while block := file.read(BLOCK_BYTES):
            copy.write(block)


def require_beside(conn: Conn, tables: StagingTables, changes: ChangesRead, node: str) -> None:
    """Check that the changes are still staged: the table is UNLOGGED, so a crash of the server empties it without an
    error. Raises Transient `staging.lost`."""
    expected = _lines(changes)
    if not expected:
        return
    found = one_number(conn, sql.SQL("SELECT count(*) FROM {}").format(tables.beside))
    if found != expected:
        raise Transient(
            "staging.lost",
            f"Staging holds {found:,} deletions and incomplete rows; {expected:,} were read.",
            node=node,
            hint="The database server has probably restarted. The source is read again.",
        )


def has_beside(changes: ChangesRead) -> bool:
    """Return whether a table beside the staging tables holds changes."""
    return _lines(changes) > 0


def _lines(changes: ChangesRead) -> int:
    return changes.deleted + changes.incomplete
