"""Inspects a table: columns with Flow's types, unique keys, kind, privileges, triggers."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any, NamedTuple

from psycopg import sql

from executors.errors import Terminal
from executors.model import Destination, DestinationColumn
from executors.postgres.client import translate
from executors.postgres.ddl import Conn
from executors.table_name import TableName, quoted
from ir.types import ColumnType

_TABLE = """
SELECT c.oid, c.relkind::text, c.relispartition, has_schema_privilege(n.oid, 'USAGE'),
       has_any_column_privilege(c.oid, 'INSERT'),
       EXISTS (SELECT 1 FROM pg_trigger t WHERE t.tgrelid = c.oid AND NOT t.tgisinternal AND t.tgenabled IN ('O', 'A')
               AND t.tgtype & 1 = 1 AND t.tgtype & 20 <> 0)
FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
WHERE n.nspname = %s AND c.relname = %s AND c.relkind IN ('r', 'p', 'v', 'm', 'f')"""

_COLUMNS = """
SELECT a.attname, format_type(a.atttypid, a.atttypmod), format_type(a.atttypid, -1),
       CASE WHEN t.typnamespace = 'pg_catalog'::regnamespace THEN t.typname ELSE '' END, a.atttypmod,
       NOT (a.attnotnull OR (t.typtype = 'd' AND t.typnotnull)),
       a.atthasdef OR a.attidentity <> '' OR t.typdefault IS NOT NULL,
       a.attgenerated <> '' OR a.attidentity = 'a'
FROM pg_attribute a JOIN pg_type t ON t.oid = a.atttypid
WHERE a.attrelid = %s AND a.attnum > 0 AND NOT a.attisdropped ORDER BY a.attnum"""

# ON CONFLICT cannot infer partial, deferrable, invalid or expression indexes, so they do not count as keys.
_UNIQUE_KEYS = """
SELECT array_agg(a.attname ORDER BY k.place), i.indnullsnotdistinct
FROM pg_index i
CROSS JOIN LATERAL unnest(i.indkey::smallint[]) WITH ORDINALITY AS k(attnum, place)
JOIN pg_attribute a ON a.attrelid = i.indrelid AND a.attnum = k.attnum
WHERE i.indrelid = %s AND i.indisunique AND i.indimmediate AND i.indisvalid AND i.indisready
      AND i.indpred IS NULL AND i.indexprs IS NULL AND NOT i.indisexclusion AND k.place <= i.indnkeyatts
GROUP BY i.indexrelid, i.indnullsnotdistinct ORDER BY i.indexrelid"""

_KINDS = {"r": "table", "p": "partitioned table", "v": "view", "m": "materialized view", "f": "foreign table"}

LOADABLE = ("table", "partitioned table")

_SIMPLE = {
    "int4": "integer",
    "int8": "bigint",
    "float8": "float",
    "bool": "boolean",
    "date": "date",
    "timestamp": "timestamp",
    "timestamptz": "timestamptz",
    "time": "time",
    "text": "string",
    "varchar": "string",
    "bpchar": "string",
    "json": "json",
    "jsonb": "json",
    "uuid": "uuid",
    "bytea": "binary",
}

_TYPMOD_OFFSET = 4


class _ColumnRow(NamedTuple):
    name: str
    declared: str
    base: str
    typname: str
    typmod: int
    nullable: bool
    has_default: bool
    generated: bool


@translate()
def inspect_target(conn: Conn, schema: str, table: str) -> Destination | None:
    """Return the current definition of the table; None if it does not exist. Names are matched exactly."""
    with conn.transaction():
        row = conn.execute(_TABLE, [schema, table]).fetchone()
        if row is None:
            return None
        oid, relkind, is_partition, has_usage, can_insert, row_triggers = row
        columns = [_ColumnRow(*r) for r in conn.execute(_COLUMNS, [oid]).fetchall()]
        keys = conn.execute(_UNIQUE_KEYS, [oid]).fetchall()
    return Destination(
        schema,
        table,
        tuple(map(_column, columns)),
        unique_keys=tuple(frozenset(names) for names, _ in keys),
        null_keys=tuple(frozenset(names) for names, takes_null in keys if takes_null),
        kind="partition" if is_partition else _KINDS[relkind],
        writable=has_usage and can_insert,
        row_triggers=row_triggers,
    )


_QUERY_COLUMNS = """
SELECT c.name, format_type(c.type, c.typmod), format_type(c.type, -1),
       CASE WHEN t.typnamespace = 'pg_catalog'::regnamespace THEN t.typname ELSE '' END, c.typmod, true, false, false
FROM unnest(%s::text[], %s::oid[], %s::int[]) WITH ORDINALITY AS c(name, type, typmod, place)
JOIN pg_type t ON t.oid = c.type ORDER BY c.place"""


def inspect_query(conn: Conn, query: str) -> tuple[DestinationColumn, ...]:
    """Return the columns of a query's result, in order. The query is planned, not run."""
    statement = sql.SQL("SELECT * FROM ({}\n) AS q WHERE false").format(sql.SQL(query))
    result = conn.execute(statement).pgresult
    if result is None:
        return ()
    indices = range(result.nfields)
    names = [(result.fname(index) or b"").decode() for index in indices]
    types = [result.ftype(index) for index in indices], [result.fmod(index) for index in indices]
    return tuple(_column(_ColumnRow(*row)) for row in conn.execute(_QUERY_COLUMNS, [names, *types]).fetchall())


def columns_of(conn: Conn, table: str) -> dict[str, DestinationColumn] | None:
    """Return the columns of `schema.name` by name; None if the table does not exist."""
    name = TableName.parse(table)
    found = inspect_target(conn, name.schema, name.table)
    return {c.name: c for c in found.columns} if found else None


def require_loadable(dest: Destination) -> None:
    """Raise for anything that cannot be loaded: views, foreign tables, partitions, and tables without write
    privileges."""
    name = f"{dest.schema}.{dest.table}"
    if dest.kind not in LOADABLE:
        raise Terminal(
            "target.not_loadable",
            f"{name} is a {dest.kind}; only tables can be loaded.",
            hint="Load the partitioned table itself." if dest.kind == "partition" else "Load the table behind it.",
        )
    if not dest.writable:
        raise _forbidden(dest, ["INSERT"])


@translate()
def require_privileges(conn: Conn, dest: Destination, privileges: Collection[str]) -> None:
    """Raise if the user lacks one of the table privileges (`SELECT`, `UPDATE`, `TRUNCATE` …)."""
    name = quoted(dest.schema, dest.table)
    with conn.transaction():
        lacking = [p for p in privileges if not _has_privilege(conn, name, p)]
    if lacking:
        raise _forbidden(dest, lacking)


def _has_privilege(conn: Conn, table: str, privilege: str) -> bool:
    # For TRUNCATE and DELETE there are no column privileges.
    test = "has_any_column_privilege" if privilege in ("INSERT", "SELECT", "UPDATE") else "has_table_privilege"
    row = conn.execute(sql.SQL("SELECT {}(%s, %s)").format(sql.Identifier(test)), [table, privilege]).fetchone()
    return bool(row and row[0])


def _forbidden(dest: Destination, privileges: list[str]) -> Terminal:
    name = quoted(dest.schema, dest.table)
    return Terminal(
        "target.forbidden",
        f"The connection's user lacks {', '.join(privileges)} on {dest.schema}.{dest.table}.",
        hint=f"GRANT USAGE ON SCHEMA {quoted(dest.schema)}, and GRANT {', '.join(privileges)} ON {name}, to that user.",
    )


def _column(row: _ColumnRow) -> DestinationColumn:
    return DestinationColumn(
        row.name,
        _type_of(row),
        row.declared,
        nullable=row.nullable,
        max_length=row.typmod - _TYPMOD_OFFSET if row.typname in ("varchar", "bpchar") and row.typmod >= 0 else None,
        has_default=row.has_default,
        generated=row.generated,
        base=row.base,
    )


def _type_of(row: _ColumnRow) -> ColumnType:
    if simple := _SIMPLE.get(row.typname):
        return ColumnType(simple)
    if row.typname == "numeric" and row.typmod >= 0:
        precision, scale = _numeric_parts(row.typmod)
        if precision <= 38 and 0 <= scale <= precision:
            return ColumnType("decimal", precision, scale)
    return ColumnType("pg", pg_name=row.declared)


def _numeric_parts(typmod: int) -> tuple[int, int]:
    """Unpack precision and scale of `numeric`; the scale is a signed number of 11 bits."""
    packed: Any = typmod - _TYPMOD_OFFSET
    return packed >> 16 & 0xFFFF, ((packed & 0x7FF) ^ 0x400) - 0x400
