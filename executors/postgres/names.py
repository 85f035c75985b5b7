"""Names of tables as documents write them (`schema.name`, parts in double quotes where needed)."""

from __future__ import annotations

import re
from dataclasses import dataclass

from psycopg import sql

from executors.errors import Terminal
from ir.names import MAX_BYTES, parse_table_name

_BARE = re.compile(r'[^".\s]+')


@dataclass(frozen=True, slots=True)
class TableName:
    schema: str
    table: str

    @classmethod
    def parse(cls, text: str) -> TableName:
        """Read `schema.name` as documents write it. Raises Terminal `table.name_unreadable`."""
        try:
            return cls(*parse_table_name(text))
        except ValueError as error:
            raise Terminal(
                "table.name_unreadable",
                f"{text!r} is not a table name.",
                hint='Write schema.name, with double quotes around a part with a dot: dlq."My.Orders".',
            ) from error

    @property
    def written(self) -> str:
        """As documents write it: what `parse` reads back, in quotes only where it must be."""
        return ".".join(part if _BARE.fullmatch(part) else quoted(part) for part in (self.schema, self.table))

    def __str__(self) -> str:
        return f"{self.schema}.{self.table}"


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
