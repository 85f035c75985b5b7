"""The base class of all ops, and the types of their fields."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Annotated, ClassVar

from pydantic import Field

from ir.annotations import JsonScalar
from ir.base import Spec
from ir.columns import Columns
from ir.limits import MAX_COLUMNS
from ir.pointers import Pointer

Column = Annotated[str, Field(max_length=1000)]
ColumnList = Annotated[list[Column], Field(min_length=1, max_length=MAX_COLUMNS)]
Scalar = Annotated[str | bool | int | float, JsonScalar(("string", "boolean", "number"))]
Reads = Iterator[tuple[str, Pointer]]


class Op(Spec):
    """The base of all ops: how an op changes the set of columns, and which columns it needs.

    `made_while_reading` says that the op is computed where rows are read, whatever its settings; `compares_rows` that
    what becomes of a row depends on other rows.
    """

    made_while_reading: ClassVar[bool] = False
    compares_rows: ClassVar[bool] = False

    op: str

    def kinds(self, at: Pointer) -> Iterator[tuple[str, str, Pointer]]:
        yield "op", self.op, at / "op"

    def reads(self, at: Pointer) -> Reads:
        """Yield the columns that the op needs, each with the place that names it."""
        yield from ()

    def adds(self, at: Pointer) -> Reads:
        """Yield the columns that the op adds and that the rows may not have already, each with the place that names
        it."""
        yield from ()

    @property
    def filters_rows(self) -> bool:
        """Return whether the op may filter a row, whatever the other rows are."""
        return False

    def computes(self) -> Iterable[str]:
        """Return the columns in which rows may differ after the op although they were equal before it. Most ops turn
        equal values into equal values."""
        return ()

    def columns_after(self, columns: Columns) -> Columns:
        """Return the known columns after this op."""
        return columns


def items(columns: Iterable[str], at: Pointer) -> Reads:
    return ((column, at / i) for i, column in enumerate(columns))


def keys(columns: Iterable[str], at: Pointer) -> Reads:
    return ((column, at / "columns" / column) for column in columns)
