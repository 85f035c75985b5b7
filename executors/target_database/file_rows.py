"""Counts the rows of a file before they are deleted."""

from __future__ import annotations

import psycopg
from psycopg import sql

from executors.errors import Terminal
from executors.model import Connection
from executors.postgres.file_rows import FileRows, count_file_rows, has_loads
from executors.postgres.quarantined import Owner
from executors.stage_plan import SOURCE_FILE_HASH
from executors.table_name import TableName, quoted
from executors.target_database.session import open_session

COUNT_SECONDS = 30


def preview_undo(connection: Connection, owner: Owner, table: TableName, sha256: str, *, node: str) -> FileRows | None:
    """Count the rows that a pipeline has loaded into the table from a file, and change nothing; None without a load.

    Raises Failure of `node`, also where deleting these rows would not restore the table to its state without the file.
    """
    with open_session(connection, node=node) as session:
        try:
            with session.transaction():
                session.execute("SET TRANSACTION READ ONLY")
                session.execute(sql.SQL("SET LOCAL statement_timeout = {}").format(sql.Literal(COUNT_SECONDS * 1000)))
                if not has_loads(session, owner, table, sha256):
                    return None
                return count_file_rows(session, owner, table, sha256)
        except psycopg.errors.QueryCanceled as error:
            raise Terminal(
                "undo.count_slow",
                f"Counting the rows of the file in {table} took longer than {COUNT_SECONDS} s.",
                node=node,
                hint=f"CREATE INDEX ON {quoted(table.schema, table.table)} ({SOURCE_FILE_HASH}); then try again.",
            ) from error
