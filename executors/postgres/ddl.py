"""The one way in which Flow creates or drops anything in a target database."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager

import psycopg
from psycopg import sql
from psycopg.pq import TransactionStatus
from psycopg.rows import TupleRow

Conn = psycopg.Connection[TupleRow]
IDLE_LIMIT = "20s"


@contextmanager
def brief_transaction(conn: Conn, *, force_rollback: bool = False) -> Iterator[None]:
    """A transaction whose statements follow each other at once. The server ends it if its process is frozen in it, for
    it would keep its locks for ever, also those of reading a table that another attempt is to truncate or swap."""
    with conn.transaction(force_rollback=force_rollback):
        conn.execute(f"SET LOCAL idle_in_transaction_session_timeout = '{IDLE_LIMIT}'")
        yield


@contextmanager
def ddl(conn: Conn) -> Iterator[None]:
    """A short transaction under one advisory lock: look, then create. `IF NOT EXISTS` alone races.

    The session must be idle: inside a longer transaction the lock would be kept until that ends.
    """
    if conn.closed:
        raise psycopg.OperationalError("the connection is closed")
    if conn.info.transaction_status != TransactionStatus.IDLE:
        raise RuntimeError("DDL needs a session without an open transaction")
    with brief_transaction(conn):
        conn.execute("SELECT pg_advisory_xact_lock(hashtextextended('flow.ddl', 0))")
        yield


def ensure_schema(conn: Conn, schema: str) -> None:
    """Create a schema that nobody but its owner may use. Only inside `ddl`."""
    if conn.execute("SELECT 1 FROM pg_namespace WHERE nspname = %s", [schema]).fetchone():
        return
    for statement in schema_statements(schema):
        conn.execute(statement)


def schema_statements(schema: str) -> list[sql.Composed]:
    """The statements of `ensure_schema`."""
    name = sql.Identifier(schema)
    return [
        sql.SQL("CREATE SCHEMA {}").format(name),
        sql.SQL("REVOKE ALL ON SCHEMA {} FROM PUBLIC").format(name),
    ]


def create_table(conn: Conn, name: sql.Identifier, body: sql.Composable, *, unlogged: bool = False) -> None:
    """Create a table that PUBLIC may not touch, whatever the default privileges say. Only inside `ddl`, unless nobody
    else can make one of that name."""
    for statement in table_statements(name, body, unlogged=unlogged):
        conn.execute(statement)


def table_statements(name: sql.Identifier, body: sql.Composable, *, unlogged: bool = False) -> list[sql.Composed]:
    """The statements of `create_table`."""
    kind = sql.SQL("UNLOGGED TABLE" if unlogged else "TABLE")
    create = sql.SQL("CREATE {} {} ({})").format(kind, name, body)
    return [create, sql.SQL("REVOKE ALL ON {} FROM PUBLIC").format(name)]


def body(columns: Mapping[str, str]) -> sql.Composed:
    """Columns of a table of ours as they stand in its definition: names and their types, constraints included."""
    return sql.SQL(", ").join(
        sql.SQL("{} {}").format(sql.Identifier(name), sql.SQL(kind)) for name, kind in columns.items()
    )


def exists(conn: Conn, schema: str, table: str) -> bool:
    found = conn.execute(
        "SELECT 1 FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace"
        " WHERE n.nspname = %s AND c.relname = %s",
        [schema, table],
    )
    return found.fetchone() is not None
