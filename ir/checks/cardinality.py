"""`cardinality`."""

from __future__ import annotations

from collections.abc import Iterator

from ir.bounds import check_number_bounds
from ir.checks.base import Count, OneColumn
from ir.diagnostics import Diagnostic
from ir.pointers import Pointer


class Cardinality(OneColumn):
    """The number of distinct values lies within the bounds. NULL is no value."""

    kind = "cardinality"
    sketch = "SELECT count(DISTINCT {column}) FROM input"
    min_distinct: Count | None = None
    max_distinct: Count | None = None

    def check(self, at: Pointer) -> Iterator[Diagnostic]:
        yield from check_number_bounds(self.min_distinct, self.max_distinct, at, ("minDistinct", "maxDistinct"))
