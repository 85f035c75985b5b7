"""Results of a replay into a table outside of the database: stored before the load, and recorded once it has
committed."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

from psycopg import sql

from executors.load_record import RunRef
from executors.postgres.ddl import Conn
from executors.postgres.names import identifier_of
from executors.postgres.replay import OUTCOMES
from executors.postgres.replay_results import write_results
from executors.postgres.superseding import can_update
from executors.rejected_rows import RowResult
from executors.table_name import TableName

_PENDING = "#pending"
"""Ids of nodes do not contain this."""

_RECORD = """
UPDATE {table} AS q SET "replayRun" = {run}, "replayResult" = r.result,
status = CASE WHEN r.result = 'loaded' THEN 'replayed' ELSE q.status END,
"replayRules" = CASE WHEN r.result = 'loaded' THEN NULL ELSE r.rules END,
"decidedBy" = CASE WHEN r.result = 'loaded' THEN {by} ELSE q."decidedBy" END,
"decidedAt" = CASE WHEN r.result = 'loaded' THEN now() ELSE q."decidedAt" END,
reason = CASE WHEN r.result = 'loaded' THEN {reason} ELSE q.reason END,
revision = q.revision + (r.result = 'loaded')::int
FROM flow_meta.replay_results AS r WHERE r.run_id = {run} AND r.node = {node} AND r.result = ANY ({outcomes})
AND q."runId" = r.row_run AND q."targetNode" = {node} AND q."rowId" = r.row_id
AND q.tenant = {tenant} AND q."pipelineId" = {pipeline}"""


def store_pending(conn: Conn, run: RunRef, results: Iterable[RowResult]) -> None:
    """Store the results that the replay will have if it commits, in the caller's transaction. Nobody sees them."""
    write_results(conn, replace(run, node=run.node + _PENDING), results)


def record_pending(conn: Conn, run: RunRef, tables: Sequence[str], by: str, reason: str) -> None:
    """Publish the results of a replay that has committed, and record them in the entries of its rows, in the caller's
    transaction. The rows are loaded, so they are replayed whatever has happened to their entries in the meantime."""
    conn.execute("DELETE FROM flow_meta.replay_results WHERE run_id = %s AND node = %s", [run.run_id, run.node])
    conn.execute(
        "UPDATE flow_meta.replay_results SET node = %s WHERE run_id = %s AND node = %s",
        [run.node, run.run_id, run.node + _PENDING],
    )
    for name in map(TableName.parse, tables):
        if can_update(conn, name):
            conn.execute(
                sql.SQL(_RECORD).format(
                    table=identifier_of(name),
                    run=sql.Literal(run.run_id),
                    node=sql.Literal(run.node),
                    tenant=sql.Literal(run.tenant),
                    pipeline=sql.Literal(run.pipeline),
                    by=sql.Literal(by or None),
                    reason=sql.Literal(reason or None),
                    outcomes=sql.Literal(list(OUTCOMES)),
                )
            )
