"""The statements that prepare the table of a load: those that the load runs itself, and those that a person must run
before it."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass

from psycopg import sql

from executors.model import Connection, SourceField
from executors.postgres.ddl import table_statements
from executors.postgres.inspect import inspect_target
from executors.postgres.names import identifier_of
from executors.postgres.quarantine_table import quarantine_statements
from executors.postgres.read import field_of
from executors.postgres.target import columns_to_create, primary_key_of, table_body
from executors.stage_plan import FILLED
from executors.table_name import TableName
from executors.target_database.inspection import bounded_session
from executors.types import postgres_type
from ir.destinations import Destination
from ir.nodes import Target
from ir.ops import AnyOp, Drop, Rename, Select, Union

EXCLUSIVE, SHARE = "ACCESS EXCLUSIVE", "SHARE"

_ESTIMATES = """
SELECT n.nspname, c.relname, c.reltuples::bigint FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
WHERE c.relkind IN ('r', 'p', 'm') AND c.reltuples >= 0
  AND (n.nspname, c.relname) IN (SELECT * FROM unnest(%s::text[], %s::text[]))"""


@dataclass(frozen=True, slots=True)
class StructureStatement:
    """A statement with the lock that it takes, "" on a new table. `by_load` means that the first load runs it."""

    text: str
    lock: str
    rewrites: bool
    by_load: bool


@dataclass(frozen=True, slots=True)
class SourceTable:
    """A table that rows are read from: its columns in the form that a pipeline reads, and the server's estimate of its
    rows."""

    fields: tuple[SourceField, ...]
    estimated_rows: int | None


def describe_sources(
    connection: Connection, tables: Collection[TableName], *, timeout: int
) -> Mapping[TableName, SourceTable]:
    """Return the tables that exist. No row is read. Raises Failure."""
    with bounded_session(connection, timeout) as session:
        names = list(tables)
        found = session.execute(_ESTIMATES, [[name.schema for name in names], [name.table for name in names]])
        estimates = {TableName(schema, table): rows for schema, table, rows in found.fetchall()}
        described = {}
        for name in names:
            if table := inspect_target(session, name.schema, name.table):
                fields = tuple(field_of(column) for column in table.columns if column.name not in FILLED)
                described[name] = SourceTable(fields, estimates.get(name))
    return described


def fields_after(fields: Sequence[SourceField], ops: Iterable[AnyOp]) -> tuple[SourceField, ...] | None:
    """Return the columns after operations that keep types; None if an operation may change them."""
    for op in ops:
        if isinstance(op, Rename):
            fields = [SourceField(op.columns.get(field.name, field.name), field.type) for field in fields]
        elif isinstance(op, Drop):
            fields = [field for field in fields if field.name not in op.columns]
        elif isinstance(op, Select):
            by_name = {field.name: field for field in fields}
            fields = [by_name[name] for name in op.columns if name in by_name]
        elif not isinstance(op, Union):
            return None
    return tuple(fields)


def find_missing_schemas(connection: Connection, schemas: Collection[str], *, timeout: int) -> set[str]:
    """Return those of the schemas that do not exist. Raises Failure."""
    with bounded_session(connection, timeout) as session:
        found = session.execute("SELECT nspname FROM pg_namespace WHERE nspname = ANY(%s)", [list(schemas)])
        return set(schemas) - {name for (name,) in found.fetchall()}


def plan_structure(
    target: Target, found: Destination | None, fields: Sequence[SourceField] | None, *, has_schema: bool
) -> list[StructureStatement]:
    """Return the statements for a target whose table is `found`, None if it does not exist. `fields` are the columns of
    the rows, if they are known. Raises Failure for columns that no table can have."""
    if found is None:
        schema = sql.SQL("CREATE SCHEMA {}").format(sql.Identifier(target.schema_))
        missing = [] if has_schema else [StructureStatement(_text(schema), "", False, False)]
        return [*missing, *_creation(target, fields)]
    return [*_missing_columns(target, found, fields or ()), *_missing_key(target, found)]


def plan_quarantine(table: TableName, *, has_schema: bool) -> list[StructureStatement]:
    """Return the statements by which the first load that rejects rows creates their table."""
    statements = quarantine_statements(table, has_schema=has_schema)
    return [StructureStatement(_text(statement), "", False, True) for statement in statements]


def _creation(target: Target, fields: Sequence[SourceField] | None) -> list[StructureStatement]:
    if fields is None and target.columns is None:
        return []
    columns = columns_to_create(target, fields or ())
    body = table_body(columns, primary_key_of(target))
    statements = table_statements(identifier_of(TableName(target.schema_, target.table)), body)
    return [StructureStatement(_text(statement), "", False, True) for statement in statements]


def _missing_columns(target: Target, found: Destination, fields: Sequence[SourceField]) -> Iterable[StructureStatement]:
    for field in fields:
        if found.column(field.name) is None:
            statement = sql.SQL("ALTER TABLE {} ADD COLUMN {} {}").format(
                identifier_of(TableName(found.schema, found.table)),
                sql.Identifier(field.name),
                sql.SQL(postgres_type(field.type)),
            )
            yield StructureStatement(_text(statement), EXCLUSIVE, False, False)


def _missing_key(target: Target, found: Destination) -> Iterable[StructureStatement]:
    key = primary_key_of(target)
    has_columns = all(found.column(name) for name in key)
    if key and has_columns and frozenset(key) not in found.unique_keys:
        statement = sql.SQL("CREATE UNIQUE INDEX ON {} ({})").format(
            identifier_of(TableName(found.schema, found.table)), sql.SQL(", ").join(map(sql.Identifier, key))
        )
        yield StructureStatement(_text(statement), SHARE, False, False)


def _text(statement: sql.Composed) -> str:
    return statement.as_string(None)
