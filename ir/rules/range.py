"""`range`."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated, Literal

from pydantic import Field

from ir.annotations import JsonScalar
from ir.bounds import check_bounds
from ir.diagnostics import Diagnostic
from ir.pointers import Pointer
from ir.rules.base import FieldRule

Bound = Annotated[int | float | str, JsonScalar(("number", "string"))]


class Range(FieldRule):
    """The value must lie between two bounds. NaN and text that is not a number fail."""

    type: Literal["range"]
    min: Bound | None = Field(
        None,
        title="Minimum",
        description="The smallest allowed value: a number, date or timestamp.",
        examples=["0", "2024-01-31"],
    )
    max: Bound | None = Field(
        None,
        title="Maximum",
        description="The largest allowed value: a number, date or timestamp.",
        examples=["100", "2024-12-31"],
    )

    def check(self, at: Pointer) -> Iterator[Diagnostic]:
        yield from super().check(at)
        yield from check_bounds(self.min, self.max, at)
