"""The known properties of a table that a pipeline loads. Other layers read them from a database; the IR only uses
them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

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
class Replacing:
    """Why all rows of a table cannot be replaced by a swap, and why not by DELETE and INSERT."""

    against_swap: tuple[str, ...] = ()
    against_delete: tuple[str, ...] = ()

    @property
    def strategy(self) -> Literal["swap", "replace"] | None:
        """The best possible strategy."""
        if not self.against_swap:
            return "swap"
        return None if self.against_delete else "replace"

    def sentence(self, table: str) -> str:
        """What the load does to the table, and why it does not use the better strategy."""
        if self.strategy == "swap":
            return f"All rows of {table} are to be replaced by a swap of tables."
        if self.strategy == "replace":
            return (
                f"All rows of {table} are to be replaced by DELETE and INSERT in one transaction: a swap of tables "
                f"would not carry over {'; '.join(self.against_swap)}."
            )
        return (
            f"The rows of {table} can be replaced neither by a swap of tables ({'; '.join(self.against_swap)}) nor by "
            f"DELETE and INSERT ({'; '.join(self.against_delete)})."
        )


@dataclass(frozen=True, slots=True)
class Destination:
    """A target table. `unique_keys` holds the column sets of valid, immediate, full unique indexes, `null_keys` those
    for which NULL equals NULL; `replacing` is None if the dependencies of the table are unknown."""

    schema: str
    table: str
    columns: tuple[DestinationColumn, ...]
    unique_keys: tuple[frozenset[str], ...] = ()
    null_keys: tuple[frozenset[str], ...] = ()
    kind: str = "table"
    writable: bool = True
    row_triggers: bool = False
    replacing: Replacing | None = None

    def column(self, name: str) -> DestinationColumn | None:
        return next((c for c in self.columns if c.name == name), None)


Destinations = Mapping[tuple[str, str, str], Destination | None]
"""Tables by (connection, schema, table). None means that the table does not exist, a missing key that this is
unknown."""

LOADABLE_KINDS = ("table", "partitioned table")
"""The kinds of `Destination.kind` that rows can be loaded into."""
