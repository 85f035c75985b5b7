"""Reads the first rows of a table with truncated values, within a time limit and without writing."""

from __future__ import annotations

from dataclasses import dataclass

import psycopg
from psycopg import sql

from executors.model import Destination
from executors.postgres.client import translate
from executors.postgres.ddl import Conn
from executors.postgres.inspect import LOADABLE, inspect_target
from executors.postgres.names import identifier_of
from executors.postgres.row_previews import Cut
from executors.table_name import TableName

MOST_ROWS, MOST_COLUMNS, LONGEST, SECONDS = 50, 100, 200, 5


@dataclass(frozen=True, slots=True)
class FirstRows:
    """Rows in the order in which the database returns them. `trouble` says why they could not be read; `more_columns`
    counts the omitted columns."""

    columns: tuple[str, ...] = ()
    rows: tuple[tuple[Cut, ...], ...] = ()
    has_more: bool = False
    more_columns: int = 0
    trouble: str = ""


@translate()
def read_first_rows(conn: Conn, name: TableName) -> FirstRows:
    """Return the first rows of a table. A view is not read, because it may call functions."""
    dest = inspect_target(conn, name.schema, name.table)
    if dest is None:
        return FirstRows(trouble="The table does not exist.")
    if dest.kind not in LOADABLE:
        return FirstRows(trouble=f"It is now a {dest.kind}. Only rows of tables are shown.")
    try:
        with conn.transaction():
            conn.execute("SET TRANSACTION READ ONLY")
            conn.execute(sql.SQL("SET LOCAL statement_timeout = {}").format(sql.Literal(SECONDS * 1000)))
            rows = conn.execute(_query(dest, name)).fetchall()
    except psycopg.errors.QueryCanceled:
        return FirstRows(trouble=f"Reading took more than {SECONDS} s.")
    except psycopg.errors.InsufficientPrivilege:
        return FirstRows(trouble="The connection's user has no read permission.")
    return FirstRows(
        tuple(column.name for column in dest.columns[:MOST_COLUMNS]),
        tuple(tuple(map(_cut, row)) for row in rows[:MOST_ROWS]),
        has_more=len(rows) > MOST_ROWS,
        more_columns=max(0, len(dest.columns) - MOST_COLUMNS),
    )


def _query(dest: Destination, name: TableName) -> sql.Composed:
    texts = [
        sql.SQL("left(t.{}::text, {})").format(sql.Identifier(column.name), sql.Literal(LONGEST + 1))
        for column in dest.columns[:MOST_COLUMNS]
    ]
    return sql.SQL("SELECT {} FROM {} AS t LIMIT {}").format(
        sql.SQL(", ").join(texts), identifier_of(name), sql.Literal(MOST_ROWS + 1)
    )


def _cut(text: str | None) -> Cut:
    return Cut(None, is_cut=False) if text is None else Cut(text[:LONGEST], is_cut=len(text) > LONGEST)
