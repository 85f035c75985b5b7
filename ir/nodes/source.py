"""The source node, which reads rows."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated, Literal

from pydantic import ConfigDict, Field

from ir.base import Id, Object, Spec, Text
from ir.columns import Columns
from ir.diagnostics import Diagnostic, diagnose, shown
from ir.limits import MAX_COLUMNS
from ir.names import RESERVED_PREFIX, check_column
from ir.nodes.base import NodeSpec
from ir.pointers import Pointer
from ir.schema_policy import SchemaPolicy
from ir.types import TypeName, check_type
from ir.written import (
    DECIMAL_SEPARATOR,
    FORMAT,
    GROUP_SEPARATOR,
    DecimalSeparator,
    Formats,
    GroupSeparator,
    check_formats,
    check_separators,
)

ColumnName = Annotated[str, Field(max_length=1000)]


class SourceColumn(Spec):
    """A column with its type. Other columns arrive as text (csv, tsv, json, jsonl) or with the type in the file."""

    name: Text = Field(title="Column name", description="The name of the column in the source.")
    type: TypeName = Field(
        description="The type of its values. A value that cannot be read as this type is a type mismatch.",
        examples=["integer", "decimal(12,2)", "timestamp"],
    )
    nullable: bool = Field(True, description="Whether the column may be NULL.")
    format: Formats | None = FORMAT
    decimal_separator: DecimalSeparator = DECIMAL_SEPARATOR
    group_separator: GroupSeparator | None = GROUP_SEPARATOR

    def check(self, at: Pointer) -> Iterator[Diagnostic]:
        # Names too long for PostgreSQL are allowed: a transform may rename them.
        if self.name == "":
            yield diagnose("identifier.empty", at / "name", "The column has an empty name.")
        if self.name.startswith(RESERVED_PREFIX):
            message = f"Names that begin with {RESERVED_PREFIX} are reserved for Flow."
            yield diagnose("identifier.reserved", at / "name", message)
        yield from check_type(self.type, at / "type")
        yield from check_formats(self.type, self.format, at / "format")
        yield from check_separators(self.type, self.decimal_separator, self.group_separator, at)


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

    schema_policy: SchemaPolicy = Field(
        "freeze",
        title="When columns change",
        description="freeze refuses new columns; ask waits for a decision about each change; evolve adds new columns "
        "to the table and widens types.",
        json_schema_extra={
            "group": "Columns",
            "labels": {
                "freeze": "refuse new columns",
                "ask": "ask a person",
                "evolve": "change the table",
            },
        },
    )
    renamed: Annotated[dict[ColumnName, ColumnName], Field(min_length=1, max_length=MAX_COLUMNS)] | None = Field(
        None,
        title="Renamed columns",
        description="Columns that the source has renamed: the new name, then the old one. The column of the table is "
        "renamed once.",
        json_schema_extra={"group": "Columns", "advanced": True, "valueTitle": "Old name"},
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
        yield from self._check_renamed(at)

    def _check_renamed(self, at: Pointer) -> Iterator[Diagnostic]:
        renamed, at = self.renamed or {}, at / "renamed"
        if renamed and self.schema_policy == "freeze":
            message = "With schemaPolicy freeze, no column of the table is renamed."
            yield diagnose("schema.renamed_unused", at, message)
        for new, old in renamed.items():
            yield from check_column(new, at / new)
            if old in renamed or list(renamed.values()).count(old) > 1:
                message = f"{shown(old)} is the old name of one column and also another name here."
                yield diagnose("schema.renamed_twice", at / new, message)

    def columns_after(self, columns: Columns) -> Columns:
        """Return the declared columns; a file may have more."""
        declared = {column.name: column.type for column in self.columns or ()}
        return Columns(tuple(declared), types=declared)
