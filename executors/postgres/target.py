"""Target tables that Flow creates before the first load, and drops if that load fails."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import psycopg
from psycopg import sql

from executors.errors import Terminal
from executors.model import DestinationColumn, SourceField
from executors.postgres.client import charset_of, translate
from executors.postgres.ddl import Conn, create_table, ddl, exists
from executors.postgres.flow_columns import comment_filled
from executors.postgres.names import identifier_of
from executors.stage_plan import FILLED, require_no_system_name
from executors.table_name import TableName
from executors.types import postgres_type
from ir.load_modes import load_mode
from ir.names import MAX_BYTES
from ir.nodes.target import Target
from ir.types import ColumnType


@dataclass(frozen=True, slots=True)
class CreatedTable:
    """A table that this run created. The oid distinguishes it from a later table with the same name."""

    schema: str
    table: str
    oid: int


def columns_to_create(target: Target, working: Sequence[SourceField]) -> tuple[DestinationColumn, ...]:
    """Return the columns of a missing table: those declared on the target, else those of the source."""
    if target.columns is not None:
        given = [(c.name, ColumnType.parse(c.type), c.nullable) for c in target.columns]
    else:
        given = [(f.name, f.type, True) for f in working]
    for name, _, _ in given:
        require_no_system_name(name, target.id)
        _require_short(name, target.id)
    return tuple(DestinationColumn(name, kind, postgres_type(kind), nullable) for name, kind, nullable in given)


def primary_key_of(target: Target) -> Sequence[str]:
    """Return the primary key of a table that Flow creates."""
    return (load_mode(target.load_mode).needs_key and target.upsert_key) or ()


def _require_short(name: str, node: str) -> None:
    """Refuse names that are too long, because PostgreSQL truncates them without an error."""
    if len(name.encode()) > MAX_BYTES:
        raise Terminal(
            "target.name_unusable",
            f"The source has a column {name!r} of {len(name.encode())} bytes; names have {MAX_BYTES} bytes at most.",
            node=node,
            hint="Rename or drop it in a transform.",
        )


@translate()
def require_usable(conn: Conn, columns: Sequence[tuple[str, ColumnType]], node: str) -> None:
    """Refuse names and types that no column of the database can have."""
    made = [DestinationColumn(name, kind, postgres_type(kind)) for name, kind in columns]
    for column in made:
        require_no_system_name(column.name, node)
        _require_short(column.name, node)
    _require_characters(conn, made)
    with conn.transaction():
        for column in made:
            _require_type(conn, column)


def _require_characters(conn: Conn, columns: Sequence[DestinationColumn]) -> None:
    charset = charset_of(conn)
    for column in columns:
        if char := charset.lacks(column.name):
            raise Terminal(
                "target.name_unusable",
                f"The column name {column.name!r} {charset.describe(char)}.",
                hint="Rename or drop the column in a transform.",
            )


@translate()
def create_target(
    conn: Conn,
    schema: str,
    table: str,
    columns: Sequence[DestinationColumn],
    primary_key: Sequence[str] = (),
    comment: str | None = None,
) -> CreatedTable | None:
    """Create the table in a transaction of its own. Return None if another session has created it since.

    Columns that loads fill themselves are added. Raises Terminal for an unknown schema, an unknown type or a key
    without its column.
    """
    _require_key_columns(columns, primary_key)
    _require_characters(conn, columns)
    name = TableName(schema, table)
    with ddl(conn):
        if exists(conn, schema, table):
            return None
        require_schema(conn, schema)
        for column in columns:
            _require_type(conn, column)
        create_table(conn, identifier_of(name), table_body(columns, primary_key))
        conn.execute(sql.SQL("COMMENT ON TABLE {} IS {}").format(identifier_of(name), sql.Literal(comment)))
        comment_filled(conn, identifier_of(name), FILLED.keys() - {column.name for column in columns})
        row = conn.execute("SELECT %s::regclass::oid", [identifier_of(name).as_string(conn)]).fetchone()
    return CreatedTable(schema, table, row[0]) if row else None


@translate()
def drop_created_target(conn: Conn, created: CreatedTable) -> bool:
    """Drop a table that this run created, if it is still the same table, empty and without dependents."""
    name = TableName(created.schema, created.table)
    try:
        with ddl(conn):
            if not _is_created_table(conn, created):
                return False
            conn.execute(sql.SQL("LOCK TABLE {} IN ACCESS EXCLUSIVE MODE").format(identifier_of(name)))
            row = conn.execute(sql.SQL("SELECT EXISTS (SELECT 1 FROM {})").format(identifier_of(name))).fetchone()
            if not _is_created_table(conn, created) or row is None or row[0]:
                return False
            conn.execute(sql.SQL("DROP TABLE {}").format(identifier_of(name)))
    except psycopg.errors.DependentObjectsStillExist:
        return False
    return True


def _is_created_table(conn: Conn, created: CreatedTable) -> bool:
    found = conn.execute(
        "SELECT 1 FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace"
        " WHERE n.nspname = %s AND c.relname = %s AND c.oid = %s",
        [created.schema, created.table, created.oid],
    )
    return found.fetchone() is not None


def _require_key_columns(columns: Sequence[DestinationColumn], primary_key: Sequence[str]) -> None:
    names = [c.name for c in columns]
    if unknown := [k for k in primary_key if k not in names]:
        raise Terminal(
            "upsert.key_unknown",
            f"The upsert key names {', '.join(unknown)}, which the table would not have.",
            hint=f"Its columns: {', '.join(names)}.",
        )


@translate()
def require_schema(conn: Conn, schema: str) -> None:
    """Refuse a schema that the database lacks."""
    if conn.execute("SELECT 1 FROM pg_namespace WHERE nspname = %s", [schema]).fetchone() is None:
        raise Terminal(
            "target.schema_unknown",
            f"The database has no schema {schema!r}.",
            hint="Correct the target's schema, or create it. Flow creates tables, not schemas.",
        )


def table_body(columns: Sequence[DestinationColumn], primary_key: Sequence[str] = ()) -> sql.Composed:
    """Return the columns and the key of a table that Flow creates, with the columns that loads fill themselves. A `pg:`
    type is used unchanged: PostgreSQL must have resolved it as the name of a type before the table is created."""
    parts = [_column(c, in_key=c.name in primary_key) for c in columns]
    given = {c.name for c in columns}
    parts += [sql.SQL("{} {}").format(sql.Identifier(n), sql.SQL(t)) for n, t in FILLED.items() if n not in given]
    if primary_key:
        parts.append(sql.SQL("PRIMARY KEY ({})").format(sql.SQL(", ").join(map(sql.Identifier, primary_key))))
    return sql.SQL(", ").join(parts)


def _column(column: DestinationColumn, *, in_key: bool) -> sql.Composed:
    suffix = "" if column.nullable and not in_key else " NOT NULL"
    return sql.SQL("{} {}").format(sql.Identifier(column.name), sql.SQL(postgres_type(column.type) + suffix))


def _require_type(conn: Conn, column: DestinationColumn) -> None:
    """Refuse a `pg:` name that PostgreSQL does not resolve to one existing type."""
    if column.type.kind != "pg":
        return
    kind = column.type.pg_name
    try:
        with conn.transaction():
            row = conn.execute("SELECT to_regtype(%s) IS NOT NULL", [kind]).fetchone()
    except psycopg.errors.SyntaxError:  # before PostgreSQL 16 bad syntax raises
        row = None
    if not (row and row[0]):
        raise Terminal(
            "target.type_unknown",
            f"Column {column.name!r}: the database has no type {kind!r}.",
            hint="Types outside pg_catalog need their schema: pg:public.citext.",
        )
