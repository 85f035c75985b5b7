"""`aggregate`."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated, Literal

from pydantic import Field

from ir.aggregate_types import result_type
from ir.base import Spec
from ir.columns import Columns
from ir.diagnostics import Diagnostic, diagnose, shown
from ir.limits import MAX_COLUMNS, MAX_KEY_COLUMNS
from ir.names import check_column, check_repeated
from ir.ops.base import Column, Op, Reads
from ir.pointers import Pointer
from ir.types import ColumnType

AggregateFunction = Literal["count", "sum", "min", "max", "avg", "countDistinct"]


class AggregateColumn(Spec):
    """A column that is computed from the rows of a group."""

    as_: Column = Field(alias="as", title="New column", description="The name of the new column.")
    function: AggregateFunction = Field(
        description="count counts rows, or values that are not NULL; sum and avg take exact numbers; min, max and "
        "countDistinct take values that can be compared."
    )
    column: Column | None = Field(
        None, description="The column to compute from. Only count works without one: it counts rows."
    )

    def check(self, at: Pointer) -> Iterator[Diagnostic]:
        if self.column is None and self.function != "count":
            yield diagnose("aggregate.column_required", at, f"{self.function} needs a column.")


class Aggregate(Op):
    """Makes one row of all rows that are equal in some columns.

    Only for targets that replace all rows of their table (truncate, blue_green). Rejected and filtered rows are in no
    group. Rows of a group count as grouped, except one for each group.
    """

    compares_rows = True

    op: Literal["aggregate"]
    by: Annotated[list[Column], Field(min_length=1, max_length=MAX_KEY_COLUMNS)] = Field(
        title="Group by",
        description="Rows that are equal in these columns become one row; NULLs are equal to each other.",
    )
    columns: Annotated[list[AggregateColumn], Field(min_length=1, max_length=MAX_COLUMNS)] = Field(
        title="Columns to compute",
        description="The new columns with their functions. All other columns are dropped.",
    )

    def check(self, at: Pointer) -> Iterator[Diagnostic]:
        yield from check_repeated(self.by, at / "by")
        given = set(self.by)
        for i, column in enumerate(self.columns):
            place = at / "columns" / i
            yield from check_column(column.as_, place / "as")
            yield from column.check(place)
            if column.as_ in given:
                yield diagnose("column.repeated", place / "as", f"Two columns get the name {shown(column.as_)}.")
            given.add(column.as_)

    def reads(self, at: Pointer) -> Reads:
        yield from ((name, at / "by" / i) for i, name in enumerate(self.by))
        for i, column in enumerate(self.columns):
            if column.column is not None:
                yield column.column, at / "columns" / i / "column"

    def columns_after(self, columns: Columns) -> Columns:
        after = columns.selected((*self.by, *(column.as_ for column in self.columns)))
        return after.with_added(c.as_ for c in self.columns).cast(self._types(columns))

    def _types(self, columns: Columns) -> dict[str, str]:
        given = {name: ColumnType.parse(kind) for name, kind in columns.types.items()}
        found = {c.as_: result_type(c.function, given.get(c.column or "")) for c in self.columns}
        return {name: str(kind) for name, kind in found.items() if kind is not None}
