"""`range`."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated, Literal

from ir.annotations import JsonScalar
from ir.bounds import check_bounds
from ir.diagnostics import Diagnostic
from ir.pointers import Pointer
from ir.rules.base import FieldRule

Bound = Annotated[int | float | str, JsonScalar(("number", "string"))]


class Range(FieldRule):
    """The value must lie within the bounds, both included. NaN and what is no number fail.

    Bounds in text are exact numbers, dates or timestamps.
    """

    type: Literal["range"]
    min: Bound | None = None
    max: Bound | None = None

    def check(self, at: Pointer) -> Iterator[Diagnostic]:
        yield from super().check(at)
        yield from check_bounds(self.min, self.max, at)
