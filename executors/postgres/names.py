"""Names of tables in SQL."""

from __future__ import annotations

from psycopg import sql

from executors.table_name import TableName
from ir.names import MAX_BYTES


def identifier_of(table: TableName) -> sql.Identifier:
    return sql.Identifier(table.schema, table.table)


def own_rows_of(table: TableName, kind: str) -> sql.Composed:
    """Return the rows of a table of that kind, without those of tables that inherit from it: their rows are not its
    own, and its indexes and keys do not cover them. The rows of a partitioned table are in its partitions."""
    return sql.SQL("{}{}").format(sql.SQL("ONLY " if kind == "table" else ""), identifier_of(table))


def shortened(name: str, suffix: str) -> str:
    """Return `name` + `suffix` within 63 bytes, truncated between characters."""
    room = MAX_BYTES - len(suffix.encode())
    return name.encode()[:room].decode(errors="ignore") + suffix
