"""Indexes of quarantine tables."""

from __future__ import annotations

from psycopg import sql

from executors.postgres.ddl import Conn
from executors.postgres.names import identifier_of, shortened
from executors.table_name import TableName

_INDEXES = {
    "_not_loaded_idx": '("pipelineId", "targetNode", "sourceFile")'
    " WHERE disposition = 'not_loaded' AND status = 'open'",
    "_run_idx": '("runId", id)',
    "_status_idx": '("pipelineId", status, id)',
    "_rule_idx": '("pipelineId", "ruleId", status, id)',
    "_field_idx": '("pipelineId", field, status, id)',
    "_all_status_idx": "(tenant, status, id)",
    "_all_rule_idx": '(tenant, "ruleId", status, id)',
    "_all_field_idx": "(tenant, field, status, id)",
    "_replay_idx": '("replayRun", id) WHERE "replayRun" IS NOT NULL',
}
"""All except the first allow a query to find a page of entries among many millions with any filter. Those that begin
with the pipeline serve queries of one pipeline, those that begin with the workspace queries of all its pipelines."""
_UNIQUE = {"_row_idx": '("runId", "targetNode", attempt, "rowId", "nodeId", "ruleId")'}


def create_indexes(conn: Conn, name: TableName) -> None:
    """Create all indexes of a table that no other session sees yet, in the caller's transaction."""
    for statement in index_statements(name):
        conn.execute(statement)


def index_statements(name: TableName) -> list[sql.Composed]:
    """Return the statements of `create_indexes`."""
    return [
        sql.SQL("CREATE {} {} ON {} {}").format(
            sql.SQL(kind), sql.Identifier(shortened(name.table, suffix)), identifier_of(name), sql.SQL(on)
        )
        for kind, indexes in (("INDEX", _INDEXES), ("UNIQUE INDEX", _UNIQUE))
        for suffix, on in indexes.items()
    ]
