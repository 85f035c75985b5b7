"""The columns that a source reads of PostgreSQL: those of a table, view or query without those that loads fill."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

import psycopg
from psycopg import sql

from executors.errors import Terminal
from executors.model import Destination, DestinationColumn
from executors.postgres.flow_columns import not_of_flow, relations_of_query
from executors.postgres.inspect import inspect_query, inspect_target
from executors.stage_plan import FILLED
from ir.connectors.postgres import SourceTable
from ir.queries import read_query

Columns = tuple[DestinationColumn, ...]


def columns_of_query(conn: psycopg.Connection, text: str, declared: Collection[str]) -> Columns:
    """`declared` are the names of the node's own columns. Raises Terminal `source.column_reserved`."""
    query = read_query(text)
    found, names = inspect_query(conn, query.text), FILLED.keys() - query.spelled - set(declared)
    relations = relations_of_query(conn, query.text) if names & {column.name for column in found} else {}
    filled = {name: relations[name] for name in names if name in relations}
    return _without_filled(conn, "query", found, filled)


def columns_of_table(conn: psycopg.Connection, table: SourceTable) -> tuple[str, Columns]:
    """Return the kind of a table or view, and its columns. Raises Terminal `source.table_unknown` and
    `source.column_reserved`."""
    name = f"{table.schema_}.{table.name}"
    there = inspect_target(conn, table.schema_, table.name)
    if there is None:
        raise Terminal(
            "source.table_unknown",
            f"The database has no table or view {name}.",
            hint="Names are case-sensitive.",
        )
    return there.kind, _without_filled(conn, name, there.columns, _filled_of(conn, table, there))


def _filled_of(conn: psycopg.Connection, table: SourceTable, there: Destination) -> dict[str, int]:
    """Return the columns of a table with names that loads fill, and the oid of the table."""
    names = [column.name for column in there.columns if column.name in FILLED]
    name = sql.Identifier(table.schema_, table.name).as_string(conn)
    row = conn.execute("SELECT %s::regclass::oid", [name]).fetchone() if names else None
    return {column: int(row[0]) for column in names} if row else {}


def _without_filled(
    conn: psycopg.Connection, name: str, columns: Sequence[DestinationColumn], filled: Mapping[str, int]
) -> Columns:
    """Return the columns without those that loads filled, which describe the origin of rows and are not data.
    `SELECT *` includes them; a column that a query names explicitly is read and validated like any other."""
    if own := not_of_flow(conn, filled):
        raise Terminal(
            "source.column_reserved",
            f"{name} has a column {own[0]!r} of its own, a name that loads use for the origin of rows: "
            "its values would be replaced.",
            hint=f'Read it under another name, by a query with {own[0]} AS "other", or name all other columns.',
        )
    return tuple(column for column in columns if column.name not in filled)
