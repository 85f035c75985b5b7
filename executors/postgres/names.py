"""Names of tables as documents write them (`schema.name`, parts in double quotes where needed)."""

from __future__ import annotations

import re
from dataclasses import dataclass

from psycopg import sql

from executors.errors import Terminal

_PART = r'"(?:[^"]|"")+"|[^".]+'
_TABLE = re.compile(rf"({_PART})\.({_PART})")

MAX_BYTES = 63
"""PostgreSQL cuts longer identifiers in silence."""


@dataclass(frozen=True, slots=True)
class TableName:
    schema: str
    table: str

    @classmethod
    def parse(cls, text: str) -> TableName:
        """Read `schema.name`. Parts are taken as they stand, without folding to lower case."""
        match = _TABLE.fullmatch(text)
        if not match:
            raise Terminal(
                "table.name_unreadable",
                f"{text!r} is not the name of a table.",
                hint='Write schema.name, with double quotes around a part that holds a dot: dlq."My.Orders".',
            )
        return cls(_unquote(match[1]), _unquote(match[2]))

    @property
    def identifier(self) -> sql.Identifier:
        return sql.Identifier(self.schema, self.table)

    def __str__(self) -> str:
        return f"{self.schema}.{self.table}"


def quoted(*parts: str) -> str:
    """A name in SQL's own quoting, for texts such as hints; statements are composed with `psycopg.sql`."""
    return ".".join('"' + part.replace('"', '""') + '"' for part in parts)


def shortened(name: str, suffix: str) -> str:
    """`name` + `suffix` within 63 bytes, cut between characters."""
    room = MAX_BYTES - len(suffix.encode())
    return name.encode()[:room].decode(errors="ignore") + suffix


def _unquote(part: str) -> str:
    return part[1:-1].replace('""', '"') if part.startswith('"') else part
