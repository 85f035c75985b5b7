"""Lists the tables that a role can read, and their columns, as suggestions for forms."""

from __future__ import annotations

from executors.postgres.client import Session
from executors.table_name import TableName
from ir.names import RESERVED_SCHEMAS

_TABLES = """
SELECT n.nspname, c.relname FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
WHERE c.relkind IN ('r', 'p', 'v', 'm', 'f') AND NOT c.relispartition
  AND n.nspname !~ '^pg_' AND n.nspname <> ALL (%s)
  AND has_schema_privilege(n.oid, 'USAGE') AND has_table_privilege(c.oid, 'SELECT')
ORDER BY n.nspname, c.relname LIMIT %s
"""
_COLUMNS = """
SELECT a.attname FROM pg_attribute a
JOIN pg_class c ON c.oid = a.attrelid JOIN pg_namespace n ON n.oid = c.relnamespace
WHERE n.nspname = %s AND c.relname = %s AND a.attnum > 0 AND NOT a.attisdropped
  AND has_schema_privilege(n.oid, 'USAGE') AND has_column_privilege(c.oid, a.attnum, 'SELECT')
ORDER BY a.attnum
"""


def list_tables(conn: Session, most: int) -> list[TableName]:
    """Return at most `most` tables and views, ordered by name, without those of PostgreSQL and of Flow."""
    rows = conn.execute(_TABLES, [list(RESERVED_SCHEMAS), most]).fetchall()
    return [TableName(schema, table) for schema, table in rows]


def list_columns(conn: Session, table: TableName) -> list[str]:
    """Return the columns of a table or view; an empty list if the role cannot read such a table."""
    return [name for (name,) in conn.execute(_COLUMNS, [table.schema, table.table])]
