"""Indexes of quarantine tables: by what new ones are made with, and how those of older releases come to have them.

On a table of many millions of rows making one takes minutes. So no run and no page waits for it: it is made apart,
beside writers.
"""

from __future__ import annotations

from contextlib import suppress

import psycopg
from psycopg import sql

from executors.postgres.client import translate
from executors.postgres.ddl import Conn
from executors.postgres.names import TableName, shortened

INDEXES = {
    "_pipeline_idx": '("pipelineId", "runId")',
    "_not_loaded_idx": '("pipelineId", "targetNode", "sourceFile")'
    " WHERE disposition = 'not_loaded' AND status = 'open'",
    "_run_idx": '("pipelineId", "runId", id)',
    "_status_idx": '("pipelineId", status, id)',
    "_rule_idx": '("pipelineId", "ruleId", status, id)',
    "_field_idx": '("pipelineId", field, status, id)',
    "_replay_idx": '("replayRun", id) WHERE "replayRun" IS NOT NULL',
}
"""The last five let a page of a few entries be found among many millions, whatever they are narrowed by."""
UNIQUE = {"_row_idx": '("runId", "targetNode", attempt, "rowId", "nodeId", "ruleId")'}

LOCK_TIMEOUT = "10min"
"""How long one index may wait for transactions that were open before it."""

_STATE = """
SELECT i.indisvalid, EXISTS (SELECT FROM pg_stat_progress_create_index AS p WHERE p.index_relid = i.indexrelid)
FROM pg_index AS i WHERE i.indexrelid = to_regclass(%s) AND i.indrelid = to_regclass(%s)"""

_NOT_OURS = (
    psycopg.errors.InsufficientPrivilege,
    psycopg.errors.WrongObjectType,
    psycopg.errors.UndefinedTable,
    psycopg.errors.UndefinedColumn,
    psycopg.errors.DuplicateTable,
)
"""Errors of tables that are somebody else's, are gone, lack the columns still, or get the same index just now."""


def create_indexes(conn: Conn, name: TableName) -> None:
    """Give a table that nobody else sees yet all its indexes, in the caller's transaction."""
    for unique, indexes in (("", INDEXES), ("UNIQUE ", UNIQUE)):
        for suffix, on in indexes.items():
            conn.execute(_create(name, suffix, on, unique))


@translate()
def complete_indexes(conn: Conn, name: TableName) -> int:
    """Make what an older release did not make, without holding off anybody; returns how many were made.

    Needs a session without a transaction. What an attempt that was ended has left half made is made again. Leaves a
    table that belongs to somebody else, or lacks the columns still, as it is.
    """
    conn.execute("SELECT set_config('lock_timeout', %s, false)", [LOCK_TIMEOUT])
    made = 0
    with suppress(*_NOT_OURS):
        for suffix, on in INDEXES.items():
            made += _complete(conn, name, suffix, on)
    return made


def _complete(conn: Conn, name: TableName, suffix: str, on: str) -> int:
    """One that is being made looks like one that was left half made; the server makes it also where the client that
    asked for it is gone."""
    index = sql.Identifier(name.schema, shortened(name.table, suffix))
    row = conn.execute(_STATE, [index.as_string(conn), name.identifier.as_string(conn)]).fetchone()
    is_valid, is_being_made = row or (False, False)
    if is_valid or is_being_made:
        return 0
    if row:
        conn.execute(sql.SQL("DROP INDEX CONCURRENTLY {}").format(index))
    conn.execute(_create(name, suffix, on, how="CONCURRENTLY "))
    return 1


def _create(name: TableName, suffix: str, on: str, unique: str = "", how: str = "") -> sql.Composed:
    return sql.SQL("CREATE {}INDEX {}{} ON {} {}").format(
        sql.SQL(unique), sql.SQL(how), sql.Identifier(shortened(name.table, suffix)), name.identifier, sql.SQL(on)
    )
