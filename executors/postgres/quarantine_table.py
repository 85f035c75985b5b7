"""Quarantine tables: created or checked before anything is read."""

from __future__ import annotations

from collections.abc import Mapping
from uuid import UUID

import psycopg
from psycopg import sql
from psycopg.types.json import Jsonb

from executors.errors import Terminal
from executors.postgres.client import translate
from executors.postgres.ddl import (
    Conn,
    body,
    create_table,
    ddl,
    ensure_schema,
    exists,
    schema_statements,
    table_statements,
)
from executors.postgres.failures import failure_of
from executors.postgres.inspect import inspect_target
from executors.postgres.names import identifier_of
from executors.postgres.quarantine_indexes import create_indexes, index_statements
from executors.table_name import TableName, quoted

_COLUMNS = {
    "pipelineId": "text NOT NULL",
    "runId": "text NOT NULL",
    "nodeId": "text NOT NULL",
    "ruleId": "text NOT NULL",
    "row": "jsonb NOT NULL",
    "createdAt": "timestamp with time zone NOT NULL DEFAULT now()",
    "rowId": "text NOT NULL",
    "field": "text",
    "message": "text NOT NULL",
    "severity": "text NOT NULL",
    "disposition": "text NOT NULL",
    "attempt": "integer NOT NULL",
    "targetNode": "text NOT NULL",
    "sourceFile": "text",
    "sourceNode": "text",
    "sourceRecord": "bigint",
    "rowFrom": "text NOT NULL",
    "status": "text NOT NULL DEFAULT 'open'",
    "fixedRow": "jsonb",
    "fixedBy": "text",
    "tenant": "uuid NOT NULL",
    "revision": "integer NOT NULL DEFAULT 0",
    "decidedBy": "text",
    "decidedAt": "timestamp with time zone",
    "reason": "text",
    "replayRun": "text",
    "replayResult": "text",
    "replayRules": "text[]",
    "fixRun": "text",
    "supersededBy": "text",
}
"""Columns in addition to `id`. The entries of one row share `rowId`. `disposition` is dropped, loaded or not_loaded
(the run loaded nothing); `rowFrom` source, input or group; `status` open, replayed, ignored, fixed or superseded.
`tenant` is the workspace: several may share a table and a pipeline's id. `revision` increases with every change of a
row's entries. `replayRun` is the last run that replayed the row, `replayResult` its result and `replayRules` the rules
that still failed. `fixRun` is the run that computed `fixedRow`, `supersededBy` the run whose result replaces the
row."""

_PROBE = {
    "pipelineId": "probe",
    "runId": "probe",
    "nodeId": "probe",
    "ruleId": "probe",
    "row": Jsonb({}),
    "rowId": "probe",
    "message": "probe",
    "severity": "skip",
    "disposition": "dropped",
    "attempt": 1,
    "targetNode": "probe",
    "rowFrom": "source",
    "tenant": str(UUID(int=0)),
}


_MAY_CREATE = """
SELECT coalesce((SELECT has_schema_privilege(n.oid, 'CREATE') FROM pg_namespace n WHERE n.nspname = %s),
                has_database_privilege(current_database(), 'CREATE'))"""


@translate()
def probe_quarantine(conn: Conn, table: str) -> None:
    """Check, before anything is read, that rejected rows can be stored. A missing table is not created, because a load
    without rejected rows needs none.

    Raises Terminal `quarantine.unusable`.
    """
    name = TableName.parse(table)
    if _columns_of(conn, name):
        ensure_quarantine(conn, table)
        return
    row = conn.execute(_MAY_CREATE, [name.schema]).fetchone()
    if row is None or not row[0]:
        raise Terminal(
            "quarantine.unusable",
            f"The quarantine table {name} does not exist, and the connection's user cannot create it.",
            hint=f"GRANT USAGE, CREATE ON SCHEMA {name.schema} TO that user (or CREATE ON DATABASE, if the schema is "
            "missing too), or name another table in the validate node.",
        )


@translate()
def ensure_quarantine(conn: Conn, table: str) -> None:
    """Create a quarantine table, or check that the existing one is writable.

    Raises Terminal `quarantine.unusable` with what the table lacks.
    """
    name = TableName.parse(table)
    if not _columns_of(conn, name):
        _create(conn, name)
    _require_columns(name, _columns_of(conn, name))
    _require_writable(conn, name)


def _create(conn: Conn, name: TableName) -> None:
    with ddl(conn):
        if exists(conn, name.schema, name.table):
            return
        ensure_schema(conn, name.schema)
        create_table(conn, identifier_of(name), _body())
        create_indexes(conn, name)


def _body() -> sql.Composed:
    return sql.SQL("id bigserial PRIMARY KEY, {}").format(body(_COLUMNS))


def quarantine_statements(name: TableName, *, has_schema: bool) -> list[sql.Composed]:
    """Return the statements by which `ensure_quarantine` creates a missing table."""
    schema = [] if has_schema else schema_statements(name.schema)
    return [*schema, *table_statements(identifier_of(name), _body()), *index_statements(name)]


@translate()
def require_quarantine(conn: Conn, name: TableName) -> None:
    """Raise Terminal `quarantine.unusable` if the table is missing or lacks a column."""
    _require_columns(name, _columns_of(conn, name))


def _columns_of(conn: Conn, name: TableName) -> dict[str, str]:
    found = inspect_target(conn, name.schema, name.table)
    return {c.name: c.declared for c in found.columns} if found else {}


def _require_columns(name: TableName, have: Mapping[str, str]) -> None:
    wanted = {"id": "bigint", **{column: kind.split(" NOT NULL")[0] for column, kind in _COLUMNS.items()}}
    missing = [column for column in wanted if column not in have]
    wrong = [column for column, kind in wanted.items() if column in have and have[column] != kind]
    if missing or wrong:
        lacks = [f"no column {c!r}" for c in missing] + [f"{c!r} is {have[c]}, not {wanted[c]}" for c in wrong]
        raise _unusable(name, f"it has {', '.join(lacks)}")


def _require_writable(conn: Conn, name: TableName) -> None:
    """Insert a row and roll it back: only this shows that triggers, constraints and privileges allow it."""
    statement = sql.SQL("INSERT INTO {} ({}) VALUES ({})").format(
        identifier_of(name),
        sql.SQL(", ").join(map(sql.Identifier, _PROBE)),
        sql.SQL(", ").join(map(sql.Literal, _PROBE.values())),
    )
    try:
        with conn.transaction(force_rollback=True):
            conn.execute(statement)
            conn.execute(
                sql.SQL("DELETE FROM {} WHERE {} = 'probe'").format(identifier_of(name), sql.Identifier("pipelineId"))
            )
    except psycopg.Error as error:
        failure = failure_of(error)
        if not isinstance(failure, Terminal):
            raise
        raise _unusable(name, failure.message) from error


def _unusable(name: TableName, why: str) -> Terminal:
    return Terminal(
        "quarantine.unusable",
        f"The quarantine table {name} cannot store rejected rows: {why}.",
        hint=f"Name another table in the validate node, or rename this table and let Flow create its own: "
        f"ALTER TABLE {quoted(name.schema, name.table)} RENAME TO …",
    )
