"""`schemaMatch`."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated

from pydantic import Field

from ir.checks.base import Check
from ir.diagnostics import Diagnostic
from ir.limits import MAX_COLUMNS
from ir.ops import Column
from ir.pointers import Pointer
from ir.types import TypeName, check_type


class SchemaMatch(Check):
    """The rows have these columns with these types. The order of the columns does not matter.

    The check looks at columns, not at values, so that it also applies to files without rows.
    """

    kind = "schemaMatch"
    sketch = "-- Columns are compared; nothing is sent."
    columns: Annotated[dict[Column, TypeName], Field(min_length=1, max_length=MAX_COLUMNS)] = Field(
        description="The expected columns with their types.", json_schema_extra={"valueTitle": "Type"}
    )
    allow_others: bool = Field(
        False, title="Allow other columns", description="Whether the rows may have more columns than these."
    )

    @property
    def subject(self) -> str:
        return f"{len(self.columns)} columns"

    def check(self, at: Pointer) -> Iterator[Diagnostic]:
        for column, type_name in self.columns.items():
            yield from check_type(type_name, at / "columns" / column)
