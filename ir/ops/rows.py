"""Ops that keep some of the rows, or replace all of them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Literal

from pydantic import Field

from ir.base import Text
from ir.diagnostics import Diagnostic
from ir.expressions.checking import check_expression, expression_reads
from ir.names import check_repeated
from ir.ops.base import Column, ColumnList, Op, Reads, items
from ir.ordering import check_order, has_direction
from ir.pointers import Pointer


class Filter(Op):
    """Keeps only the rows for which a condition is true."""

    op: Literal["filter"]
    where: Text = Field(
        title="Condition",
        description="A Spark SQL condition. Rows for which it is false or NULL are filtered out.",
        examples=["status <> 'test'"],
        json_schema_extra={"multiline": True},
    )

    @property
    def filters_rows(self) -> bool:
        return True

    def check(self, at: Pointer) -> Iterator[Diagnostic]:
        yield from check_expression(self.where, at / "where")

    def reads(self, at: Pointer) -> Reads:
        yield from expression_reads(self.where, at / "where")


class Deduplicate(Op):
    """Keeps the last row of each key.

    Rows of a database that are equally last but differ in the columns that remain fail the run. NULLs in keys are equal
    to each other. Types that Spark does not have are compared as text.
    """

    compares_rows = True

    op: Literal["deduplicate"]
    keys: ColumnList = Field(title="Key columns", description="The columns that identify a row.")
    order_by: Column | None = Field(
        None,
        title="Order by",
        description="Of the rows of a key, the one with the highest value in this column is passed on; NULL is lowest. "
        "Without it, the last row in the order of the files is passed on.",
    )

    def check(self, at: Pointer) -> Iterator[Diagnostic]:
        yield from check_repeated(self.keys, at / "keys")
        if self.order_by is not None:
            yield from check_order(self.order_by, at / "orderBy")

    def reads(self, at: Pointer) -> Reads:
        yield from items(self.keys, at / "keys")
        if self.order_by is not None and not has_direction(self.order_by):
            yield self.order_by, at / "orderBy"
