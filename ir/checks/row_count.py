"""`rowCount`."""

from __future__ import annotations

from collections.abc import Iterator

from pydantic import Field

from ir.bounds import check_number_bounds
from ir.checks.base import Check, Count
from ir.diagnostics import Diagnostic
from ir.pointers import Pointer


class RowCount(Check):
    """The number of staged rows lies between two bounds."""

    kind = "rowCount"
    describes_all = True
    sketch = "SELECT count(*) FROM input"
    min: Count | None = Field(None, title="Minimum", description="The smallest allowed number of rows.")
    max: Count | None = Field(None, title="Maximum", description="The largest allowed number of rows.")

    def check(self, at: Pointer) -> Iterator[Diagnostic]:
        yield from check_number_bounds(self.min, self.max, at)
