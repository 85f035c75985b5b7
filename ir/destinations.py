"""What is known about a table that a pipeline loads. Filled from a database by others; the IR only reads it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from ir.types import ColumnType


@dataclass(frozen=True, slots=True)
class DestinationColumn:
    """A column of a target table.

    `declared` is PostgreSQL's own spelling of the type, `base` the same without length or precision (for casts that
    must not cut or round).
    """

    name: str
    type: ColumnType
    declared: str
    nullable: bool = True
    max_length: int | None = None
    has_default: bool = False
    generated: bool = False
    base: str = ""


@dataclass(frozen=True, slots=True)
class Destination:
    """A target table. `unique_keys` holds the column sets of valid, immediate, full unique indexes."""

    schema: str
    table: str
    columns: tuple[DestinationColumn, ...]
    unique_keys: tuple[frozenset[str], ...] = ()
    kind: str = "table"
    writable: bool = True
    row_triggers: bool = False

    def column(self, name: str) -> DestinationColumn | None:
        return next((c for c in self.columns if c.name == name), None)


Destinations = Mapping[tuple[str, str, str], Destination | None]
"""Tables by (connection, schema, table). None says that the table does not exist; a missing key, that nobody looked."""

LOADABLE_KINDS = ("table", "partitioned table")
"""The kinds of `Destination.kind` that rows can be loaded into."""
