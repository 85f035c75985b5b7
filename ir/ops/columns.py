"""Ops that change columns of each row."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Annotated, Literal

from pydantic import Field

from ir.annotations import TextOrObject
from ir.base import Spec, Text
from ir.columns import Columns
from ir.diagnostics import Diagnostic, diagnose, shown
from ir.expressions.checking import check_expression, expression_reads
from ir.limits import MAX_COLUMNS
from ir.names import check_column, check_repeated
from ir.ops.base import Column, ColumnList, Op, Reads, Scalar, items, keys
from ir.pointers import Pointer
from ir.types import TypeName, check_type
from ir.written import (
    DECIMAL_SEPARATOR,
    FORMAT,
    GROUP_SEPARATOR,
    DecimalSeparator,
    Formats,
    GroupSeparator,
    check_formats,
    check_separators,
)


class Rename(Op):
    """Gives columns new names."""

    made_while_reading = True

    op: Literal["rename"]
    columns: Annotated[dict[Column, Column], Field(min_length=1, max_length=MAX_COLUMNS)] = Field(
        description="The old names with the new names.", json_schema_extra={"valueTitle": "New name"}
    )

    def computes(self) -> Iterable[str]:
        return (name for pair in self.columns.items() for name in pair)

    def check(self, at: Pointer) -> Iterator[Diagnostic]:
        given: set[str] = set()
        for old, new in self.columns.items():
            pointer = at / "columns" / old
            yield from check_column(new, pointer)
            if new in given:
                yield diagnose("column.repeated", pointer, f"Two columns are renamed to {shown(new)}.")
            given.add(new)

    def reads(self, at: Pointer) -> Reads:
        yield from keys(self.columns, at)

    def columns_after(self, columns: Columns) -> Columns:
        return columns.renamed(self.columns)


class CastTo(Spec):
    """A type, and the format of its values in the text that is converted."""

    type: TypeName = Field(description="The new type.")
    format: Formats | None = FORMAT
    decimal_separator: DecimalSeparator = DECIMAL_SEPARATOR
    group_separator: GroupSeparator | None = GROUP_SEPARATOR

    def check(self, at: Pointer) -> Iterator[Diagnostic]:
        yield from check_type(self.type, at / "type")
        yield from check_formats(self.type, self.format, at / "format")
        yield from check_separators(self.type, self.decimal_separator, self.group_separator, at)


TypeOrObject = Annotated[TypeName | CastTo, TextOrObject()]


class Cast(Op):
    """Converts columns to another type. A value that does not fit is a type mismatch, never a silent NULL."""

    made_while_reading = True

    op: Literal["cast"]
    columns: Annotated[dict[Column, TypeOrObject], Field(min_length=1, max_length=MAX_COLUMNS)] = Field(
        description="The columns with their new types. Where dates or numbers are written in another way than usual, "
        "an object with type, format, decimalSeparator and groupSeparator.",
        json_schema_extra={"valueTitle": "Type"},
    )

    def computes(self) -> Iterable[str]:
        # 0.0 and -0.0 are equal as numbers, and differ as texts.
        return (name for name, to in self.columns.items() if to == "string")

    def check(self, at: Pointer) -> Iterator[Diagnostic]:
        for column, to in self.columns.items():
            place = at / "columns" / column
            yield from check_type(to, place) if isinstance(to, str) else to.check(place)

    def reads(self, at: Pointer) -> Reads:
        yield from keys(self.columns, at)

    def columns_after(self, columns: Columns) -> Columns:
        return columns.cast({name: to if isinstance(to, str) else to.type for name, to in self.columns.items()})


class Select(Op):
    """Keeps only these columns, in this order."""

    made_while_reading = True

    op: Literal["select"]
    columns: ColumnList = Field(description="The columns to keep.")

    def check(self, at: Pointer) -> Iterator[Diagnostic]:
        yield from check_repeated(self.columns, at / "columns")

    def reads(self, at: Pointer) -> Reads:
        yield from items(self.columns, at / "columns")

    def columns_after(self, columns: Columns) -> Columns:
        return columns.selected(self.columns)


class Drop(Op):
    """Removes columns."""

    made_while_reading = True

    op: Literal["drop"]
    columns: ColumnList = Field(description="The columns to remove.")

    def check(self, at: Pointer) -> Iterator[Diagnostic]:
        yield from check_repeated(self.columns, at / "columns")

    def reads(self, at: Pointer) -> Reads:
        yield from items(self.columns, at / "columns")

    def columns_after(self, columns: Columns) -> Columns:
        return columns.without(self.columns)


class Derive(Op):
    """Adds or replaces columns with Spark SQL expressions."""

    op: Literal["derive"]
    columns: Annotated[dict[Column, Text], Field(min_length=1, max_length=MAX_COLUMNS)] = Field(
        description="The columns with their expressions. Every expression sees the columns before this operation.",
        examples=[{"total": "price * quantity"}],
        json_schema_extra={"valueTitle": "Expression"},
    )

    def computes(self) -> Iterable[str]:
        return self.columns

    def check(self, at: Pointer) -> Iterator[Diagnostic]:
        for column, text in self.columns.items():
            yield from check_column(column, at / "columns" / column)
            yield from check_expression(text, at / "columns" / column)

    def reads(self, at: Pointer) -> Reads:
        for column, text in self.columns.items():
            yield from expression_reads(text, at / "columns" / column)

    def columns_after(self, columns: Columns) -> Columns:
        return columns.with_added(self.columns)


class FillNull(Op):
    """Replaces NULL with a value."""

    made_while_reading = True

    op: Literal["fillNull"]
    columns: Annotated[dict[Column, Scalar], Field(min_length=1, max_length=MAX_COLUMNS)] = Field(
        description="The columns with the values that replace NULL.",
        json_schema_extra={"valueTitle": "Instead of NULL"},
    )

    def reads(self, at: Pointer) -> Reads:
        yield from keys(self.columns, at)


class Trim(Op):
    """Removes spaces from both ends of text columns."""

    made_while_reading = True

    op: Literal["trim"]
    columns: ColumnList = Field(description="The text columns to trim.")

    def check(self, at: Pointer) -> Iterator[Diagnostic]:
        yield from check_repeated(self.columns, at / "columns")

    def reads(self, at: Pointer) -> Reads:
        yield from items(self.columns, at / "columns")
