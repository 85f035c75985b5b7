"""Table names as written in documents (`schema.name`, parts in double quotes where needed)."""

from __future__ import annotations

import re
from dataclasses import dataclass

from executors.errors import Terminal
from ir.names import parse_table_name

_BARE = re.compile(r'[^".\s]+')


@dataclass(frozen=True, slots=True)
class TableName:
    schema: str
    table: str

    @classmethod
    def parse(cls, text: str) -> TableName:
        """Parse `schema.name`. Raises Terminal `table.name_unreadable`."""
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
        """Return the name as written in documents, with quotes only where needed; `parse` reads it back."""
        return ".".join(part if _BARE.fullmatch(part) else quoted(part) for part in (self.schema, self.table))

    def __str__(self) -> str:
        return f"{self.schema}.{self.table}"


def quoted(*parts: str) -> str:
    """Return a name in SQL quoting, for texts such as hints. Statements are composed with `psycopg.sql`."""
    return ".".join('"' + part.replace('"', '""') + '"' for part in parts)
