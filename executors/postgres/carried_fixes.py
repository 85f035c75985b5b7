"""Transfers fixes of rejected rows to the same rows when their file is loaded again."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from psycopg import sql

from executors.load_record import LoadFile, RunRef
from executors.postgres.ddl import Conn
from executors.postgres.names import identifier_of
from executors.postgres.read_again import files_read_again, joins_by_hash, units_of
from executors.postgres.superseding import Superseded, can_update
from executors.table_name import TableName

_CARRY = """
UPDATE {now} AS n SET status = 'fixed', "fixedRow" = o."fixedRow", "fixedBy" = o."fixedBy", "fixRun" = o."fixRun",
"decidedBy" = o."decidedBy", "decidedAt" = o."decidedAt", reason = o.reason, revision = n.revision + 1
FROM {then} AS o JOIN ({files}) AS f ON o."runId" = f.run_id AND o."sourceFile" = f.name_then
AND coalesce(o."sourceNode", '') = f.source_then
WHERE o.tenant = {tenant} AND o."pipelineId" = {pipeline} AND o."targetNode" = {node} AND o."supersededBy" = {run}
AND o."fixedRow" IS NOT NULL AND n.tenant = o.tenant AND n."pipelineId" = o."pipelineId"
AND n."targetNode" = o."targetNode" AND n."runId" = {run} AND n.status = 'open' AND n.disposition = 'dropped'
AND n."sourceFile" = f.name_now AND coalesce(n."sourceNode", '') = f.source_now
AND n."sourceRecord" = o."sourceRecord" AND n."rowFrom" = o."rowFrom"
AND n.row = o.row"""


_FIXED = """"supersededBy" = {run} AND "fixedRow" IS NOT NULL"""


def carry_fixes(
    conn: Conn,
    run: RunRef,
    superseded: Superseded,
    tables: Iterable[str],
    files: Sequence[LoadFile],
    united: Sequence[str] = (),
) -> None:
    """Copy the fixes that users made to rejected rows to the entries of the same rows from this run. Call it in the
    transaction that supersedes the old entries. Rows that this run has loaded need no fix."""
    units, fixed = units_of(files), sql.SQL(_FIXED).format(run=sql.Literal(run.run_id))
    if not units or not superseded.tables:
        return
    with joins_by_hash(conn):
        for now in map(TableName.parse, dict.fromkeys(tables)):
            for then in map(TableName.parse, superseded.tables if can_update(conn, now) else ()):
                conn.execute(_carry(run, now, then, files_read_again(run, then, units, united, fixed)))


def _carry(run: RunRef, now: TableName, then: TableName, files: sql.Composed) -> sql.Composed:
    return sql.SQL(_CARRY).format(
        now=identifier_of(now),
        then=identifier_of(then),
        files=files,
        tenant=sql.Literal(run.tenant),
        pipeline=sql.Literal(run.pipeline),
        node=sql.Literal(run.node),
        run=sql.Literal(run.run_id),
    )
