"""Inspects what a connection can access: the server, the privileges of its role, and the tables of targets."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import ClassVar

from psycopg import sql
from psycopg.rows import class_row

from executors.model import Connection
from executors.postgres import catalog
from executors.postgres.client import Session
from executors.postgres.load_modes.blue_green import inspect_with_dependents
from executors.postgres.roles import RIGHTS, server_rights
from executors.table_name import TableName
from executors.target_database.session import CONNECT_SECONDS, open_session
from ir.destinations import Destination

_FACTS = """
SELECT current_setting('server_version') AS server_version,
       coalesce((SELECT ssl FROM pg_stat_ssl WHERE pid = pg_backend_pid()), false) AS is_encrypted,
       has_database_privilege(current_database(), 'CREATE') AS can_create_schema,
       (SELECT rolsuper FROM pg_roles WHERE rolname = session_user) AS is_superuser
"""


@dataclass(frozen=True, slots=True)
class ServerIdentity:
    """Identifies the server: the database cluster, the database and the role."""

    QUERY: ClassVar[str] = (
        "SELECT (SELECT system_identifier FROM pg_control_system())::text, current_database(), session_user"
    )

    system: str
    database: str
    role: str


@dataclass(frozen=True, slots=True)
class ServerFacts:
    server_version: str
    is_encrypted: bool
    can_create_schema: bool
    is_superuser: bool


@dataclass(frozen=True, slots=True)
class ConnectionCheck:
    """The result of a connection test. `server_rights` are keys of `RIGHTS`; `notes` are texts about missing or
    excessive privileges of the role."""

    facts: ServerFacts
    server_rights: tuple[str, ...]
    notes: tuple[str, ...]


def read_identity(connection: Connection) -> ServerIdentity:
    """Read the identity of the server. Raises Failure."""
    with open_session(connection) as session:
        (row,) = session.execute(ServerIdentity.QUERY).fetchall()
    return ServerIdentity(*row)


def check_connection(connection: Connection) -> ConnectionCheck:
    """Connect, and read the privileges of the role. Raises Failure."""
    with open_session(connection) as session:
        (facts,) = session.cursor(row_factory=class_row(ServerFacts)).execute(_FACTS).fetchall()
        rights = tuple(server_rights(session))
    return ConnectionCheck(facts, rights, tuple(_notes(connection, facts, rights)))


def inspect_tables(
    connection: Connection, tables: Iterable[TableName], *, node: str | None = None, timeout: int | None = None
) -> Iterator[tuple[TableName, Destination | None]]:
    """Yield each table as a load would inspect it, None for a missing table, one after the other. `timeout`, in
    seconds, limits connecting and each statement. Raises Failure of `node`."""
    with bounded_session(connection, timeout, node) as session:
        for table in tables:
            yield table, inspect_with_dependents(session, table.schema, table.table)


def list_tables(connection: Connection, most: int, *, timeout: int = CONNECT_SECONDS) -> list[TableName]:
    """Return at most `most` tables and views that the role may read, by name, without those of Flow and of the system.
    `timeout` as for `inspect_tables`. Raises Failure."""
    with bounded_session(connection, timeout) as session:
        return catalog.list_tables(session, most)


def list_columns(connection: Connection, table: TableName, *, timeout: int) -> list[str]:
    """Return the columns of a table or view that a connection can read. Raises Failure."""
    with bounded_session(connection, timeout) as session:
        return catalog.list_columns(session, table)


@contextmanager
def bounded_session(connection: Connection, timeout: int | None, node: str | None = None) -> Iterator[Session]:
    """Open a session in which connecting and each statement take at most `timeout` seconds. Raises Failure of
    `node`."""
    with open_session(connection, node=node, timeout=timeout or CONNECT_SECONDS) as session:
        if timeout is not None:
            session.execute("SELECT set_config('statement_timeout', %s, false)", [f"{timeout}s"])
        yield session


def _notes(connection: Connection, facts: ServerFacts, rights: tuple[str, ...]) -> Iterator[str]:
    if not facts.can_create_schema:
        grant = sql.SQL("GRANT CREATE ON DATABASE {} TO {}").format(
            sql.Identifier(connection.database), sql.Identifier(connection.user)
        )
        yield (
            "The role may not create schemas; Flow keeps staging and commit markers in schemas of its own. "
            f"Let the database's owner run: {grant.as_string()}"
        )
    if not rights:
        return
    has = f"The role {' and '.join(RIGHTS[right] for right in rights)}."
    if connection.allows_server_rights:
        yield f"{has} An admin has allowed editors' queries to use it."
    else:
        yield (
            f"{has} Flow loads with it, but rejects editors' queries and table previews. Connect as a "
            "role that owns only what it reads and loads, or let an admin allow it on the connection."
        )
