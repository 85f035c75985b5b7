"""`expression`."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Literal

from pydantic import Field

from ir.base import Text
from ir.diagnostics import Diagnostic
from ir.expressions.checking import check_expression, expression_reads
from ir.pointers import Pointer
from ir.rules.base import RowRule


class Expression(RowRule):
    """A Spark SQL condition must not be false. If it is NULL, the row passes."""

    type: Literal["expression"]
    expression: Text = Field(
        description="A Spark SQL condition over the columns. Rows for which it is false fail.",
        examples=["ends >= begins"],
    )

    def check(self, at: Pointer) -> Iterator[Diagnostic]:
        yield from super().check(at)
        yield from check_expression(self.expression, at / "expression")

    def reads(self, at: Pointer) -> Iterator[tuple[str, Pointer]]:
        yield from super().reads(at)
        yield from expression_reads(self.expression, at / "expression")
