"""Creates and drops objects in a target database. All DDL of Flow uses these functions."""

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
    """Open a transaction for statements that follow each other immediately. The server ends the transaction if this
    process freezes; otherwise its locks would stay, including those on tables that another attempt must truncate or
    swap."""
    with conn.transaction(force_rollback=force_rollback):
        conn.execute(f"SET LOCAL idle_in_transaction_session_timeout = '{IDLE_LIMIT}'")
        yield


@contextmanager
def ddl(conn: Conn) -> Iterator[None]:
    """Open a short transaction under one advisory lock, to look for an object and create it. `IF NOT EXISTS` alone has
    race conditions.

    The session must be idle: inside a longer transaction the lock would be held until that one ends.
    """
    if conn.closed:
        raise psycopg.OperationalError("the connection is closed")
    if conn.info.transaction_status != TransactionStatus.IDLE:
        raise RuntimeError("DDL needs a session without an open transaction")
    with brief_transaction(conn):
        conn.execute("SELECT pg_advisory_xact_lock(hashtextextended('flow.ddl', 0))")
        yield


def ensure_schema(conn: Conn, schema: str) -> None:
    """Create a schema that only its owner may use. Call it only inside `ddl`."""
    if conn.execute("SELECT 1 FROM pg_namespace WHERE nspname = %s", [schema]).fetchone():
        return
    for statement in schema_statements(schema):
        conn.execute(statement)


def schema_statements(schema: str) -> list[sql.Composed]:
    """Return the statements of `ensure_schema`."""
    name = sql.Identifier(schema)
    return [
        sql.SQL("CREATE SCHEMA {}").format(name),
        sql.SQL("REVOKE ALL ON SCHEMA {} FROM PUBLIC").format(name),
    ]


def create_table(conn: Conn, name: sql.Identifier, body: sql.Composable, *, unlogged: bool = False) -> None:
    """Create a table without any privileges for PUBLIC, regardless of default privileges. Call it only inside `ddl`,
    unless no other session can create a table of that name."""
    for statement in table_statements(name, body, unlogged=unlogged):
        conn.execute(statement)


def table_statements(name: sql.Identifier, body: sql.Composable, *, unlogged: bool = False) -> list[sql.Composed]:
    """Return the statements of `create_table`."""
    kind = sql.SQL("UNLOGGED TABLE" if unlogged else "TABLE")
    create = sql.SQL("CREATE {} {} ({})").format(kind, name, body)
    return [create, sql.SQL("REVOKE ALL ON {} FROM PUBLIC").format(name)]


def body(columns: Mapping[str, str]) -> sql.Composed:
    """Return the column definitions of a table: names and types, including constraints."""
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
