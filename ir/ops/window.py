"""`window`."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated, Literal

from pydantic import Field

from ir.base import Spec
from ir.columns import Columns
from ir.diagnostics import Diagnostic, diagnose, shown
from ir.limits import MAX_COLUMNS, MAX_KEY_COLUMNS
from ir.names import check_column, check_repeated
from ir.ops.base import Column, Op, Reads
from ir.pointers import Pointer

FunctionName = Literal["rowNumber", "rank", "lag", "lead", "runningSum"]
_TAKES_COLUMN = ("lag", "lead", "runningSum")
_TAKES_OFFSET = ("lag", "lead")


class OrderColumn(Spec):
    """A column that orders rows."""

    column: Column = Field(title="Column", description="The column.")
    direction: Literal["ascending", "descending"] = Field(
        "ascending", description="Whether the lowest or the highest value comes first. NULL is lowest."
    )


class WindowFunction(Spec):
    """A column that is computed from the rows of a partition."""

    as_: Column = Field(alias="as", title="New column", description="The name of the new column.")
    function: FunctionName = Field(
        description="rowNumber counts the rows, rank gives equal rows the same place, lag and lead take the value of a "
        "row before or after, runningSum adds up to this row."
    )
    column: Column | None = Field(None, description="The column that lag, lead and runningSum take.")
    offset: Annotated[int, Field(ge=1, le=1_000_000)] | None = Field(
        None, description="How many rows before or after lag and lead look. The default is 1."
    )

    def check(self, at: Pointer) -> Iterator[Diagnostic]:
        for name, value, takes in (
            ("column", self.column, self.function in _TAKES_COLUMN),
            ("offset", self.offset, self.function in _TAKES_OFFSET),
        ):
            if value is not None and not takes:
                fix = [{"op": "remove", "path": str(at / name)}]
                yield diagnose("window.field_unused", at / name, f"{self.function} takes no {name}.", fixes=[fix])
        if self.column is None and self.function in _TAKES_COLUMN:
            yield diagnose("window.column_required", at, f"{self.function} needs a column.")


class Window(Op):
    """Adds columns computed from the rows of the same partition, in an order.

    Rows stay as they are. Only rows of the same run take part; filtered rows do not. Rows of files that are equal in
    all columns of the order are ordered as in their files; such rows of a database that differ fail the run.
    """

    compares_rows = True

    op: Literal["window"]
    partition_by: Annotated[list[Column], Field(max_length=MAX_KEY_COLUMNS)] = Field(
        default=[],
        title="Partition by",
        description="Rows that are equal in these columns belong together; NULLs are equal to each other. Without any, "
        "all rows do, and one task computes them.",
    )
    order_by: Annotated[list[OrderColumn], Field(min_length=1, max_length=MAX_KEY_COLUMNS)] = Field(
        title="Order by", description="The columns that order the rows of a partition, the most important one first."
    )
    columns: Annotated[list[WindowFunction], Field(min_length=1, max_length=MAX_COLUMNS)] = Field(
        title="Columns to add", description="The new columns with their functions."
    )

    def check(self, at: Pointer) -> Iterator[Diagnostic]:
        yield from check_repeated(self.partition_by, at / "partitionBy")
        yield from check_repeated([by.column for by in self.order_by], at / "orderBy")
        given: set[str] = set()
        for i, function in enumerate(self.columns):
            place = at / "columns" / i
            yield from check_column(function.as_, place / "as")
            yield from function.check(place)
            if function.as_ in given:
                yield diagnose("column.repeated", place / "as", f"Two columns get the name {shown(function.as_)}.")
            given.add(function.as_)

    def reads(self, at: Pointer) -> Reads:
        yield from ((name, at / "partitionBy" / i) for i, name in enumerate(self.partition_by))
        yield from ((by.column, at / "orderBy" / i / "column") for i, by in enumerate(self.order_by))
        for i, function in enumerate(self.columns):
            if function.column is not None:
                yield function.column, at / "columns" / i / "column"

    def adds(self, at: Pointer) -> Reads:
        return ((function.as_, at / "columns" / i / "as") for i, function in enumerate(self.columns))

    def columns_after(self, columns: Columns) -> Columns:
        kept = {
            f.as_: columns.types[str(f.column)]
            for f in self.columns
            if f.function in _TAKES_OFFSET and f.column in columns.types
        }
        counted = {f.as_: "bigint" for f in self.columns if f.function in ("rowNumber", "rank")}
        return columns.with_added(f.as_ for f in self.columns).cast({**kept, **counted})
