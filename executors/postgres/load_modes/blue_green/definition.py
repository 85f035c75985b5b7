"""The complete definition of a table except its rows, as the statements that give another table the same definition.

The statements name the table and its objects without a schema: they are read with the table's schema as search path,
and run with the new table's schema first on the search path. So all names are unchanged in the new table.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from psycopg import sql

from executors.postgres.ddl import Conn
from executors.postgres.load_modes.blue_green import catalog
from executors.table_name import TableName, quoted

Statements = tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Identity:
    """The sequence of an identity column, and the settings and privileges that the sequence of a new column lacks."""

    column: str
    sequence: str
    settings: Statements
    grants: Statements


@dataclass(frozen=True, slots=True)
class Serial:
    """A sequence owned by a column, which is transferred unchanged."""

    column: str
    sequence: str


@dataclass(frozen=True, slots=True)
class Definition:
    """The definition of a table at one time. If two definitions are equal, nothing was altered in between.

    `locks` take the locks of the relations that `rewiring` changes, and of the table itself last. `release` takes the
    locks of the tables that it refers to.
    """

    oid: int
    owner: str
    is_row_security_forced: bool
    create: Statements
    before_rows: Statements
    after_rows: Statements
    grants: Statements
    identities: tuple[Identity, ...]
    serials: tuple[Serial, ...]
    statistics: tuple[tuple[str, str], ...]
    locks: Statements
    release: Statements
    rewiring: Statements


def read_definition(conn: Conn, table: TableName) -> Definition:
    """Read the definition of the table in the open transaction."""
    # Reading the query of a view locks the relations that it reads; the rollback releases these locks.
    with conn.transaction(force_rollback=True), search_path(conn, table.schema):
        oid, owner, is_forced = _identity(conn, table)
        return Definition(
            oid,
            owner,
            is_forced,
            create=read_statements(conn, oid, catalog.CREATE),
            before_rows=read_statements(
                conn, oid, catalog.COLUMNS, catalog.CHECKS, catalog.TRIGGERS, catalog.POLICIES, catalog.ROW_SECURITY
            ),
            after_rows=read_statements(
                conn, oid, catalog.INDEXES, catalog.OWN_KEYS, catalog.STATISTICS, catalog.RULES, catalog.TABLE
            ),
            grants=read_statements(conn, oid, catalog.GRANTS["TABLE"]),
            identities=tuple(_identities(conn, oid)),
            serials=tuple(Serial(*row) for row in _rows(conn, oid, catalog.SERIALS)),
            statistics=tuple((schema, name) for schema, name in _rows(conn, oid, catalog.STATISTICS_NAMES)),
            locks=read_statements(conn, oid, catalog.VIEW_LOCKS, catalog.CHILD_LOCKS, catalog.TABLE_LOCK),
            release=read_statements(conn, oid, catalog.RELEASE),
            rewiring=read_statements(conn, oid, catalog.VIEWS, catalog.OTHER_RULES, catalog.INBOUND, catalog.OUTBOUND),
        )


@contextmanager
def search_path(conn: Conn, *schemas: str) -> Iterator[None]:
    """Resolve names without a schema in the given schemas. Elsewhere Flow always uses qualified names."""
    set_path = sql.SQL("SELECT set_config('search_path', {}, true)")
    conn.execute(set_path.format(", ".join(quoted(schema) for schema in schemas)))
    yield
    conn.execute(set_path.format(""))


def run(conn: Conn, statements: Statements) -> None:
    for statement in statements:
        conn.execute(statement.encode())


def _identity(conn: Conn, table: TableName) -> tuple[int, str, bool]:
    ((oid, owner, is_forced),) = conn.execute(
        "SELECT c.oid, pg_get_userbyid(c.relowner), c.relforcerowsecurity FROM pg_class c WHERE c.oid = %s::regclass",
        [quoted(table.schema, table.table)],
    )
    return oid, owner, is_forced


def read_statements(conn: Conn, oid: int, *queries: str) -> Statements:
    return tuple(statement for query in queries for (statement,) in _rows(conn, oid, query))


def _rows(conn: Conn, oid: int, query: str) -> list[tuple[Any, ...]]:
    # Not a parameter, because psycopg would interpret the % of format().
    return catalog.query_catalog(conn, sql.SQL(query).format(oid=sql.Literal(oid)))


def _identities(conn: Conn, oid: int) -> Iterator[Identity]:
    for column, sequence, sequence_oid in _rows(conn, oid, catalog.IDENTITIES):
        settings = read_statements(conn, sequence_oid, catalog.SEQUENCE)
        grants = read_statements(conn, sequence_oid, catalog.GRANTS["SEQUENCE"])
        yield Identity(column, sequence, settings, grants)
