"""Transfers fixes of rejected rows to the same rows when their file is loaded again."""

from __future__ import annotations

from collections.abc import Iterable

from psycopg import sql

from executors.load_record import RunRef
from executors.postgres.ddl import Conn
from executors.postgres.names import identifier_of
from executors.postgres.superseding import Superseded, can_update
from executors.table_name import TableName

_CARRY = """
UPDATE {now} AS n SET status = 'fixed', "fixedRow" = o."fixedRow", "fixedBy" = o."fixedBy", "fixRun" = o."fixRun",
"decidedBy" = o."decidedBy", "decidedAt" = o."decidedAt", reason = o.reason, revision = n.revision + 1
FROM {then} AS o JOIN unnest({runs}::text[], {names_then}::text[], {names_now}::text[]) AS f(run_id, was, name)
ON o."runId" = f.run_id AND o."sourceFile" = f.was
WHERE o.tenant = {tenant} AND o."pipelineId" = {pipeline} AND o."targetNode" = {node} AND o."supersededBy" = {run}
AND o."fixedRow" IS NOT NULL AND n.tenant = o.tenant AND n."pipelineId" = o."pipelineId"
AND n."targetNode" = o."targetNode" AND n."runId" = {run} AND n.status = 'open' AND n.disposition = 'dropped'
AND n."sourceFile" = f.name AND n."sourceRecord" = o."sourceRecord" AND n."rowFrom" = o."rowFrom" AND n.row = o.row"""


def carry_fixes(conn: Conn, run: RunRef, superseded: Superseded, tables: Iterable[str]) -> None:
    """Copy the fixes that users made to rejected rows to the entries of the same rows from this run. Call it in the
    transaction that supersedes the old entries. Rows that this run has loaded need no fix."""
    for now in dict.fromkeys(tables):
        if not superseded.files or not can_update(conn, TableName.parse(now)):
            continue
        for then in superseded.tables:
            conn.execute(
                sql.SQL(_CARRY).format(
                    now=identifier_of(TableName.parse(now)),
                    then=identifier_of(TableName.parse(then)),
                    runs=sql.Literal([one.run_id for one in superseded.files]),
                    names_then=sql.Literal([one.name_then for one in superseded.files]),
                    names_now=sql.Literal([one.name_now for one in superseded.files]),
                    tenant=sql.Literal(run.tenant),
                    pipeline=sql.Literal(run.pipeline),
                    node=sql.Literal(run.node),
                    run=sql.Literal(run.run_id),
                )
            )
