"""Names of tables as documents write them (`schema.name`, parts in double quotes where needed)."""

from __future__ import annotations

from psycopg import sql

from executors.table_name import TableName
from ir.names import MAX_BYTES


def identifier_of(table: TableName) -> sql.Identifier:
    return sql.Identifier(table.schema, table.table)


def own_rows_of(table: TableName, kind: str) -> sql.Composed:
    """The table of that kind without those that inherit from it: their rows are not its own, and no index or key
    of its own knows of them. The rows of a partitioned table are in its partitions."""
    return sql.SQL("{}{}").format(sql.SQL("ONLY " if kind == "table" else ""), identifier_of(table))


def quoted(*parts: str) -> str:
    """A name in SQL's own quoting, for texts such as hints; statements are composed with `psycopg.sql`."""
    return ".".join('"' + part.replace('"', '""') + '"' for part in parts)


def shortened(name: str, suffix: str) -> str:
    """`name` + `suffix` within 63 bytes, cut between characters."""
    room = MAX_BYTES - len(suffix.encode())
    return name.encode()[:room].decode(errors="ignore") + suffix
