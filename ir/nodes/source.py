"""The source node: where rows come from."""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import datetime
from typing import Annotated, Literal

from pydantic import ConfigDict, Field

from ir.base import Id, Object, Spec, Text
from ir.columns import Columns
from ir.diagnostics import Diagnostic, diagnose, shown
from ir.limits import MAX_COLUMNS
from ir.names import RESERVED_PREFIX
from ir.nodes.base import NodeSpec
from ir.pointers import Pointer
from ir.types import TypeName, check_type

_WITH_FORMAT = ("date", "timestamp", "timestamptz")


class SourceColumn(Spec):
    """A column with its type. Other columns arrive as text (csv, tsv, json, jsonl) or with the type in the file."""

    name: Text = Field(title="Column name", description="The name of the column in the source.")
    type: TypeName = Field(
        description="The type of its values. A value that cannot be read as this type is a type mismatch.",
        examples=["integer", "decimal(12,2)", "timestamp"],
    )
    nullable: bool = Field(True, description="Whether the column may be NULL.")
    format: Text | None = Field(
        None,
        description="How a date or time is written, as for Python's strptime.",
        examples=["%d/%m/%Y"],
    )

    def check(self, at: Pointer) -> Iterator[Diagnostic]:
        # Names too long for PostgreSQL are allowed: a transform may rename them.
        if self.name == "":
            yield diagnose("identifier.empty", at / "name", "The column has an empty name.")
        if self.name.startswith(RESERVED_PREFIX):
            message = f"Names that begin with {RESERVED_PREFIX} are reserved for Flow."
            yield diagnose("identifier.reserved", at / "name", message)
        yield from check_type(self.type, at / "type")
        if self.format is not None:
            yield from self._check_format(self.format, at / "format")

    def _check_format(self, text: str, at: Pointer) -> Iterator[Diagnostic]:
        if self.type not in _WITH_FORMAT:
            yield diagnose("column.format_unused", at, f"A column of type {self.type} cannot have a format.")
        elif not _reads_back(text):
            message = f"{shown(text)} does not describe a complete date for Python's strptime."
            yield diagnose("value.malformed", at, message, hint="Use for example %d/%m/%Y or %Y-%m-%d %H:%M:%S.")


class Source(NodeSpec):
    """Reads rows from files or from a database."""

    model_config = ConfigDict(json_schema_extra={"groups": ["General", "Location", "Columns"]})

    kind: Literal["source"]
    connector: str = Field(description="The kind of system to read from.", json_schema_extra={"group": "Location"})
    connection: Id | None = Field(
        None,
        description="The stored connection to read through, for connectors that need one.",
        json_schema_extra={"group": "Location"},
    )
    config: Object = Field(
        title="Settings",
        description="What to read. Each connector has its own settings.",
        json_schema_extra={"group": "Location"},
    )
    columns: Annotated[list[SourceColumn], Field(max_length=MAX_COLUMNS)] | None = Field(
        None,
        description="Columns with their types. Other columns arrive as text (csv, tsv, json, jsonl) or with the type "
        "in the file.",
        json_schema_extra={"group": "Columns", "advanced": True},
    )

    def kinds(self, at: Pointer) -> Iterator[tuple[str, str, Pointer]]:
        yield "source connector", self.connector, at / "connector"

    def check(self, at: Pointer) -> Iterator[Diagnostic]:
        seen: set[str] = set()
        for i, column in enumerate(self.columns or ()):
            if column.name in seen:
                message = f"The column {shown(column.name)} is declared twice."
                yield diagnose("column.repeated", at / "columns" / i / "name", message)
            seen.add(column.name)

    def columns_after(self, columns: Columns) -> Columns:
        """The declared ones; a file may hold more."""
        return Columns(tuple(column.name for column in self.columns or ()))


def _reads_back(text: str) -> bool:
    day = datetime(2001, 2, 3, 14, 5, 6)
    try:
        return datetime.strptime(day.strftime(text), text).date() == day.date()
    except (ValueError, re.error):  # strptime makes a regex of it, in which no part may stand twice
        return False
