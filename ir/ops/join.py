"""`join`."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Annotated, Literal

from pydantic import Field

from ir.base import Id
from ir.columns import Columns
from ir.diagnostics import Diagnostic, diagnose, shown
from ir.limits import MAX_COLUMNS, MAX_KEY_COLUMNS
from ir.names import check_column
from ir.ops.base import Column, Op, Reads
from ir.pointers import Pointer

JoinType = Literal["left", "inner", "semi", "anti"]


class Join(Op):
    """Looks each row up in the rows of another node by equal keys.

    The other node is a further input of this transform node, and is called its reference. A row stays one row: if
    several rows of the reference have the key of a row, the run fails. NULL equals no key. Rows that are not kept count
    as filtered.
    """

    op: Literal["join"]
    with_: Id = Field(
        alias="with",
        title="Reference",
        description="The ID of the node to look rows up in: an input of this node after the first.",
        examples=["customers"],
        json_schema_extra={"suggests": "references"},
    )
    type: JoinType = Field(
        description="left keeps all rows, inner and semi those with a match, anti those without one. Only left and "
        "inner add columns.",
        json_schema_extra={
            "labels": {
                "left": "left: keep all rows",
                "inner": "inner: keep rows with a match",
                "semi": "semi: keep rows with a match, add no columns",
                "anti": "anti: keep rows without a match",
            }
        },
    )
    on: Annotated[dict[Column, Column], Field(min_length=1, max_length=MAX_KEY_COLUMNS)] = Field(
        title="Key columns",
        description="The columns of the rows with the columns of the reference that they must equal.",
        examples=[{"customer_id": "id"}],
        json_schema_extra={"valueTitle": "Column of the reference"},
    )
    columns: Annotated[dict[Column, Column], Field(max_length=MAX_COLUMNS)] = Field(
        default={},
        title="Columns to add",
        description="The columns of the reference with the names that they get. NULL where a row has no match.",
        examples=[{"name": "customer_name"}],
        json_schema_extra={"keyTitle": "Column of the reference", "valueTitle": "New name"},
    )

    @property
    def adds_columns(self) -> bool:
        return self.type in ("left", "inner")

    @property
    def filters_rows(self) -> bool:
        return self.type != "left"

    def computes(self) -> Iterable[str]:
        return self.columns.values()

    def check(self, at: Pointer) -> Iterator[Diagnostic]:
        given: set[str] = set()
        for column, name in self.columns.items():
            pointer = at / "columns" / column
            yield from check_column(name, pointer)
            if name in given:
                yield diagnose("column.repeated", pointer, f"Two columns get the name {shown(name)}.")
            given.add(name)
        if self.columns and not self.adds_columns:
            fix = [{"op": "remove", "path": str(at / "columns")}]
            yield diagnose(
                "join.columns_unused", at / "columns", f"A join of type {self.type} adds no columns.", fixes=[fix]
            )
        elif not self.columns and self.adds_columns:
            yield diagnose("join.columns_required", at / "columns", f"A join of type {self.type} adds no column yet.")

    def reads(self, at: Pointer) -> Reads:
        return ((column, at / "on" / column) for column in self.on)

    def columns_after(self, columns: Columns) -> Columns:
        return columns.with_added(self.columns.values())
