"""The columns and rows of a database file, as sources read them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import pyarrow as pa
from psycopg import sql

from executors.formats.batches import BadRecords
from executors.model import SourceField


@dataclass(frozen=True, slots=True)
class Column:
    """A column of the source. Its values are selected as `expression`, where `{}` is the column of the row `q`, and
    arrive as text for Flow's own grammar."""

    field: SourceField
    expression: str = "{}"

    @property
    def selected(self) -> sql.Composed:
        """Return the entry of the select list. The table's name before that of the column keeps SQLite from taking an
        unknown column for a text."""
        return sql.SQL(self.expression).format(sql.Identifier("q", self.field.name))


@dataclass(slots=True)
class Rows:
    """Some rows: their number, an array of text for each column, and those with values that cannot be read. Such a row
    is NULL in every column."""

    size: int
    arrays: Sequence[pa.Array]
    bad: BadRecords = field(default_factory=BadRecords)
