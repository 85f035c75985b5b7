"""The base classes of dataset checks."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated, ClassVar, Literal

from pydantic import Field

from ir.annotations import JsonScalar
from ir.base import Spec
from ir.bounds import check_number_bounds
from ir.diagnostics import Diagnostic
from ir.limits import MAX_COLUMNS
from ir.names import check_repeated
from ir.pointers import Pointer

Count = Annotated[int, Field(ge=0)]
Proportion = Annotated[int | float, JsonScalar(("number",), ge=0, le=1)]
"""A number from 0 to 1."""
NumberBound = Annotated[int | float | str, JsonScalar(("number", "string"))]
"""A number; as text if a double cannot represent it."""


class Check(Spec):
    """The base of all checks. `kind` is the key of the check in a document, `sketch` an outline of the SQL over the
    staged rows, `input`."""

    kind: ClassVar[str]
    sketch: ClassVar[str]
    validates_rows: ClassVar[bool] = False
    """Whether the check evaluates single rows, so that its result for some of them is meaningful."""
    describes_all: ClassVar[bool] = False
    """Whether its limits describe all rows of a source, so that a part of them may be outside."""
    on_fail: Literal["abort", "warn"] = Field(
        title="On fail",
        description="What happens if the check fails.",
        json_schema_extra={"labels": {"abort": "fail the run", "warn": "load and warn"}},
    )

    @property
    def subject(self) -> str:
        """The subject that distinguishes checks of one kind; "" if the check evaluates rows as such."""
        return ""

    @property
    def outline(self) -> str:
        """An outline of the SQL for people. The SQL that is sent also handles types and attempts."""
        return self.sketch.format_map(self.names())

    def names(self) -> dict[str, str]:
        """The names in the outline."""
        return {}

    def kinds(self, at: Pointer) -> Iterator[tuple[str, str, Pointer]]:
        yield "check", self.kind, at

    def reads(self, at: Pointer) -> Iterator[tuple[str, Pointer]]:
        """Yield the columns that the check reads, each with the place that names it."""
        yield from ()


def quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


REPEATED = "SELECT {column}, count(*) FROM input WHERE ({column}) IS NOT NULL GROUP BY {column} HAVING count(*) > 1"


class OneColumn(Check):
    """A check of one column."""

    column: str = Field(description="The column to check.")

    @property
    def subject(self) -> str:
        return self.column

    def names(self) -> dict[str, str]:
        return {"column": quoted(self.column)}

    def reads(self, at: Pointer) -> Iterator[tuple[str, Pointer]]:
        yield self.column, at / "column"


class SomeColumns(Check):
    """A check of some columns together."""

    columns: Annotated[list[str], Field(min_length=1, max_length=MAX_COLUMNS)] = Field(
        description="The columns to check together."
    )

    @property
    def subject(self) -> str:
        return ", ".join(self.columns)

    def names(self) -> dict[str, str]:
        return {"column": ", ".join(map(quoted, self.columns))}

    def check(self, at: Pointer) -> Iterator[Diagnostic]:
        yield from check_repeated(self.columns, at / "columns")

    def reads(self, at: Pointer) -> Iterator[tuple[str, Pointer]]:
        for i, column in enumerate(self.columns):
            yield column, at / "columns" / i


class Amount(OneColumn):
    """A number computed from a column that lies between two bounds, both included."""

    min: NumberBound | None = Field(None, title="Minimum", description="The smallest allowed number.")
    max: NumberBound | None = Field(None, title="Maximum", description="The largest allowed number.")

    def check(self, at: Pointer) -> Iterator[Diagnostic]:
        yield from check_number_bounds(self.min, self.max, at)


class Ratio(OneColumn):
    """A ratio between 0 and 1 of a column's values that lies between two bounds, both included."""

    min: Proportion | None = Field(
        None, title="Minimum", description="The smallest allowed ratio, from 0 to 1: 0.25 is a quarter."
    )
    max: Proportion | None = Field(
        None, title="Maximum", description="The largest allowed ratio, from 0 to 1: 0.25 is a quarter."
    )

    def check(self, at: Pointer) -> Iterator[Diagnostic]:
        yield from check_number_bounds(self.min, self.max, at)
