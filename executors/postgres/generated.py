"""Expressions over staged rows for columns that the table computes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from psycopg import sql

from executors.postgres.ddl import Conn
from executors.table_name import TableName

# From PostgreSQL 15 on, the expression records which columns it reads; in older versions the column does.
_GENERATED = """
SELECT a.attname, format_type(a.atttypid, a.atttypmod), pg_get_expr(d.adbin, d.adrelid),
       array(SELECT r.attname FROM pg_depend p
             JOIN pg_attribute r ON r.attrelid = p.refobjid AND r.attnum = p.refobjsubid
             WHERE p.refclassid = 'pg_class'::regclass AND p.refobjid = a.attrelid AND p.refobjsubid <> a.attnum
                   AND (p.classid = 'pg_attrdef'::regclass AND p.objid = d.oid
                        OR p.classid = 'pg_class'::regclass AND p.objid = a.attrelid AND p.objsubid = a.attnum))
FROM pg_attribute a JOIN pg_attrdef d ON d.adrelid = a.attrelid AND d.adnum = a.attnum
JOIN pg_class t ON t.oid = a.attrelid JOIN pg_namespace n ON n.oid = t.relnamespace
WHERE n.nspname = %s AND t.relname = %s AND a.attgenerated <> '' AND NOT a.attisdropped ORDER BY a.attnum"""


def generated_values(conn: Conn, table: TableName, values: Mapping[str, sql.Composable]) -> dict[str, sql.Composed]:
    """Return the values of generated columns that read only columns of `values`."""
    rows = conn.execute(_GENERATED, [table.schema, table.table]).fetchall()
    return {
        name: sql.SQL("({})::{}").format(over_row(expression, reads, values), sql.SQL(declared))
        for name, declared, expression, reads in rows
        if set(reads) <= values.keys()
    }


def over_row(expression: str, columns: Sequence[str], values: Mapping[str, sql.Composable]) -> sql.Composed:
    """Return an expression from the catalog, which refers to columns of its table, applied to the given values."""
    return sql.SQL("(SELECT {} FROM {} AS _flow_row)").format(sql.SQL(expression), row_of(columns, values))


def row_of(columns: Sequence[str], values: Mapping[str, sql.Composable]) -> sql.Composed:
    """Return a sub-select of one row."""
    return sql.SQL("(SELECT {})").format(
        sql.SQL(", ").join(sql.SQL("{} AS {}").format(values[c], sql.Identifier(c)) for c in columns)
    )
