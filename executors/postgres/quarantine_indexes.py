"""Indexes of quarantine tables."""

from __future__ import annotations

from psycopg import sql

from executors.postgres.ddl import Conn
from executors.postgres.names import identifier_of, shortened
from executors.table_name import TableName

_INDEXES = {
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
_UNIQUE = {"_row_idx": '("runId", "targetNode", attempt, "rowId", "nodeId", "ruleId")'}


def create_indexes(conn: Conn, name: TableName) -> None:
    """Give a table that nobody else sees yet all its indexes, in the caller's transaction."""
    for kind, indexes in (("INDEX", _INDEXES), ("UNIQUE INDEX", _UNIQUE)):
        for suffix, on in indexes.items():
            index = sql.Identifier(shortened(name.table, suffix))
            conn.execute(
                sql.SQL("CREATE {} {} ON {} {}").format(sql.SQL(kind), index, identifier_of(name), sql.SQL(on))
            )
