"""Fills tables fast: rows from generate_series, with indexes and foreign keys made again afterwards."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from psycopg import sql

if TYPE_CHECKING:
    import psycopg
    from django.db.models import Model


def took(what: str, do: Callable[[], object]) -> None:
    start = time.perf_counter()
    do()
    print(f"{what}: {time.perf_counter() - start:.0f} s", flush=True)


def insert_like(conn: psycopg.Connection[Any], row: Model, source: str, **columns: str) -> None:
    """Insert a row for each row of the FROM clause `source`. Columns have the values of the unsaved `row`, or those of
    the SQL expressions in `columns`, by field name."""
    from django.db import connection

    fields = [f for f in row._meta.concrete_fields if f.name in columns or f.pre_save(row, add=True) is not None]
    values = [
        sql.SQL(columns[f.name])
        if f.name in columns
        else sql.Literal(f.get_db_prep_save(f.pre_save(row, add=True), connection))
        for f in fields
    ]
    conn.execute(
        sql.SQL("INSERT INTO {} ({}) SELECT {} FROM {}").format(
            sql.Identifier(row._meta.db_table),
            sql.SQL(", ").join(sql.Identifier(str(f.column)) for f in fields),
            sql.SQL(", ").join(values),
            sql.SQL(source),
        )
    )


@contextmanager
def bare_tables(conn: psycopg.Connection[Any], tables: Sequence[str]) -> Iterator[None]:
    """Remove foreign keys, unique constraints and indexes other than primary keys while the body runs."""
    keys = conn.execute(
        "SELECT conrelid::regclass::text, conname, contype::text, pg_get_constraintdef(oid) FROM pg_constraint"
        " WHERE contype IN ('f', 'u') AND conrelid = ANY(%s::regclass[]) ORDER BY contype DESC, conname",
        [list(tables)],
    ).fetchall()
    for table, name, _, _ in keys:
        conn.execute(sql.SQL("ALTER TABLE {} DROP CONSTRAINT {}").format(sql.SQL(table), sql.Identifier(name)))
    indexes = conn.execute(
        "SELECT indexrelid::regclass::text, pg_get_indexdef(indexrelid) FROM pg_index"
        " WHERE indrelid = ANY(%s::regclass[]) AND NOT indisprimary",
        [list(tables)],
    ).fetchall()
    for name, _ in indexes:
        conn.execute(sql.SQL("DROP INDEX {}").format(sql.SQL(name)))
    yield
    for _, definition in indexes:
        conn.execute(definition)
    for table, name, _, definition in keys:
        conn.execute(
            sql.SQL("ALTER TABLE {} ADD CONSTRAINT {} {}").format(
                sql.SQL(table), sql.Identifier(name), sql.SQL(definition)
            )
        )
    for table in tables:
        conn.execute(sql.SQL("ANALYZE {}").format(sql.SQL(table)))
