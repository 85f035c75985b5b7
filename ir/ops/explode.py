"""`explode`."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Literal

from pydantic import Field

from ir.columns import Columns
from ir.diagnostics import Diagnostic, diagnose, shown
from ir.names import check_column
from ir.ops.base import Column, Op, Reads
from ir.pointers import Pointer
from ir.types import TypeName, check_type


class Explode(Op):
    """Makes one row of each element of a JSON array.

    The other columns have the same values in all rows of a record. A record has one outcome: if one of its rows is
    rejected, none is loaded. Text that is no JSON array, and an element that does not have the type, are type
    mismatches.
    """

    op: Literal["explode"]
    field: Column = Field(
        title="Column", description="The column of JSON arrays, or of text that is one. It stays as it is."
    )
    as_: Column = Field(alias="as", title="New column", description="The name of the column with the element.")
    type: TypeName = Field(
        description="The type of the elements. Numbers keep all digits. Objects and arrays need the type json."
    )
    index_as: Column | None = Field(
        None,
        title="Column for the index",
        description="The name of a further column with the place of the element in its array, beginning with 0.",
        examples=["line"],
    )
    keep_empty: bool = Field(
        False,
        title="Keep records without elements",
        description="What happens to a record whose array is empty or NULL: if true, it makes one row with NULL as "
        "element, else it is filtered out.",
    )

    @property
    def made(self) -> dict[str, str]:
        """The columns that the op adds, with their types."""
        return {self.as_: self.type, **({self.index_as: "integer"} if self.index_as is not None else {})}

    def check(self, at: Pointer) -> Iterator[Diagnostic]:
        yield from check_column(self.as_, at / "as")
        yield from check_type(self.type, at / "type")
        if self.index_as is not None:
            yield from check_column(self.index_as, at / "indexAs")
            if self.index_as == self.as_:
                yield diagnose("column.repeated", at / "indexAs", f"Two columns get the name {shown(self.as_)}.")

    def reads(self, at: Pointer) -> Reads:
        yield self.field, at / "field"

    def adds(self, at: Pointer) -> Reads:
        yield self.as_, at / "as"
        if self.index_as is not None:
            yield self.index_as, at / "indexAs"

    def columns_after(self, columns: Columns) -> Columns:
        return columns.with_added(self.made).cast(self.made)
