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
    """The columns that arrive are these and no others (unless allowed), of these types; their order does not matter.

    It looks at columns, not at values: of files without rows as well.
    """

    kind = "schemaMatch"
    sketch = "-- Columns are compared; nothing is sent."
    columns: Annotated[dict[Column, TypeName], Field(min_length=1, max_length=MAX_COLUMNS)]
    allow_others: bool = False

    @property
    def subject(self) -> str:
        return f"{len(self.columns)} columns"

    def check(self, at: Pointer) -> Iterator[Diagnostic]:
        for column, type_name in self.columns.items():
            yield from check_type(type_name, at / "columns" / column)
