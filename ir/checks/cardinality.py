"""`cardinality`."""

from __future__ import annotations

from collections.abc import Iterator

from pydantic import Field

from ir.bounds import check_number_bounds
from ir.checks.base import Count, OneColumn
from ir.diagnostics import Diagnostic
from ir.pointers import Pointer


class Cardinality(OneColumn):
    """The number of distinct values lies between two bounds. NULL does not count."""

    kind = "cardinality"
    describes_all = True
    sketch = "SELECT count(DISTINCT {column}) FROM input"
    min_distinct: Count | None = Field(
        None, title="Minimum", description="The smallest allowed number of distinct values."
    )
    max_distinct: Count | None = Field(
        None, title="Maximum", description="The largest allowed number of distinct values."
    )

    def check(self, at: Pointer) -> Iterator[Diagnostic]:
        yield from check_number_bounds(self.min_distinct, self.max_distinct, at, ("minDistinct", "maxDistinct"))
