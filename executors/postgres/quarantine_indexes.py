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
"""All but the first let a page of a few entries be found among many millions, whatever they are narrowed by: those of a
pipeline by the indexes that it leads, those of all pipelines of a workspace by those that the workspace leads."""
_UNIQUE = {"_row_idx": '("runId", "targetNode", attempt, "rowId", "nodeId", "ruleId")'}


def create_indexes(conn: Conn, name: TableName) -> None:
    """Give a table that nobody else sees yet all its indexes, in the caller's transaction."""
    for statement in index_statements(name):
        conn.execute(statement)


def index_statements(name: TableName) -> list[sql.Composed]:
    """The statements of `create_indexes`."""
    return [
        sql.SQL("CREATE {} {} ON {} {}").format(
            sql.SQL(kind), sql.Identifier(shortened(name.table, suffix)), identifier_of(name), sql.SQL(on)
        )
        for kind, indexes in (("INDEX", _INDEXES), ("UNIQUE INDEX", _UNIQUE))
        for suffix, on in indexes.items()
    ]
