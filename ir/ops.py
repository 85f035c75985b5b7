"""Transform operations. Each is one small class; `OPS` is the table of them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Annotated, Literal

from pydantic import Field

from ir.annotations import ByTag, JsonScalar, TextOrObject, tag_of
from ir.base import Spec, Text
from ir.columns import Columns
from ir.diagnostics import Diagnostic, diagnose, shown
from ir.expressions.checking import check_expression, expression_reads
from ir.kinds import KindTable
from ir.limits import MAX_COLUMNS
from ir.names import check_column, check_repeated
from ir.ordering import check_order, has_direction
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

Column = Annotated[str, Field(max_length=1000)]
ColumnList = Annotated[list[Column], Field(min_length=1, max_length=MAX_COLUMNS)]
Scalar = Annotated[str | bool | int | float, JsonScalar(("string", "boolean", "number"))]
Reads = Iterator[tuple[str, Pointer]]


class Op(Spec):
    """What all ops share: how an op changes the set of columns, and which columns it must find."""

    op: str

    def kinds(self, at: Pointer) -> Iterator[tuple[str, str, Pointer]]:
        yield "op", self.op, at / "op"

    def reads(self, at: Pointer) -> Reads:
        """The columns that it needs, and where it names them."""
        yield from ()

    def columns_after(self, columns: Columns) -> Columns:
        """What is known of the columns behind this op."""
        return columns


class Rename(Op):
    """Gives columns new names."""

    op: Literal["rename"]
    columns: Annotated[dict[Column, Column], Field(min_length=1, max_length=MAX_COLUMNS)] = Field(
        description="The old names with the new names."
    )

    def check(self, at: Pointer) -> Iterator[Diagnostic]:
        given: set[str] = set()
        for old, new in self.columns.items():
            pointer = at / "columns" / old
            yield from check_column(new, pointer)
            if new in given:
                yield diagnose("column.repeated", pointer, f"Two columns are renamed to {shown(new)}.")
            given.add(new)

    def reads(self, at: Pointer) -> Reads:
        yield from _keys(self.columns, at)

    def columns_after(self, columns: Columns) -> Columns:
        return columns.renamed(self.columns)


class CastTo(Spec):
    """A type and how its values are written in the text that is converted."""

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

    op: Literal["cast"]
    columns: Annotated[dict[Column, TypeOrObject], Field(min_length=1, max_length=MAX_COLUMNS)] = Field(
        description="The columns with their new types. Where dates or numbers are written in another way than usual, "
        "an object with type, format, decimalSeparator and groupSeparator."
    )

    def check(self, at: Pointer) -> Iterator[Diagnostic]:
        for column, to in self.columns.items():
            place = at / "columns" / column
            yield from check_type(to, place) if isinstance(to, str) else to.check(place)

    def reads(self, at: Pointer) -> Reads:
        yield from _keys(self.columns, at)


class Select(Op):
    """Keeps only these columns, in this order."""

    op: Literal["select"]
    columns: ColumnList = Field(description="The columns to keep.")

    def check(self, at: Pointer) -> Iterator[Diagnostic]:
        yield from check_repeated(self.columns, at / "columns")

    def reads(self, at: Pointer) -> Reads:
        yield from _items(self.columns, at / "columns")

    def columns_after(self, columns: Columns) -> Columns:
        return columns.selected(self.columns)


class Drop(Op):
    """Removes columns."""

    op: Literal["drop"]
    columns: ColumnList = Field(description="The columns to remove.")

    def check(self, at: Pointer) -> Iterator[Diagnostic]:
        yield from check_repeated(self.columns, at / "columns")

    def reads(self, at: Pointer) -> Reads:
        yield from _items(self.columns, at / "columns")

    def columns_after(self, columns: Columns) -> Columns:
        return columns.without(self.columns)


class Derive(Op):
    """Adds or replaces columns with Spark SQL expressions."""

    op: Literal["derive"]
    columns: Annotated[dict[Column, Text], Field(min_length=1, max_length=MAX_COLUMNS)] = Field(
        description="The columns with their expressions. Every expression sees the columns before this operation.",
        examples=[{"total": "price * quantity"}],
    )

    def check(self, at: Pointer) -> Iterator[Diagnostic]:
        for column, text in self.columns.items():
            yield from check_column(column, at / "columns" / column)
            yield from check_expression(text, at / "columns" / column)

    def reads(self, at: Pointer) -> Reads:
        for column, text in self.columns.items():
            yield from expression_reads(text, at / "columns" / column)

    def columns_after(self, columns: Columns) -> Columns:
        return columns.with_added(self.columns)


class Filter(Op):
    """Keeps only the rows for which a condition is true."""

    op: Literal["filter"]
    where: Text = Field(
        title="Condition",
        description="A Spark SQL condition. Rows for which it is false or NULL are filtered out.",
        examples=["status <> 'test'"],
        json_schema_extra={"multiline": True},
    )

    def check(self, at: Pointer) -> Iterator[Diagnostic]:
        yield from check_expression(self.where, at / "where")

    def reads(self, at: Pointer) -> Reads:
        yield from expression_reads(self.where, at / "where")


class FillNull(Op):
    """Replaces NULL with a value."""

    op: Literal["fillNull"]
    columns: Annotated[dict[Column, Scalar], Field(min_length=1, max_length=MAX_COLUMNS)] = Field(
        description="The columns with the values that replace NULL."
    )

    def reads(self, at: Pointer) -> Reads:
        yield from _keys(self.columns, at)


class Trim(Op):
    """Removes spaces from both ends of text columns."""

    op: Literal["trim"]
    columns: ColumnList = Field(description="The text columns to trim.")

    def check(self, at: Pointer) -> Iterator[Diagnostic]:
        yield from check_repeated(self.columns, at / "columns")

    def reads(self, at: Pointer) -> Reads:
        yield from _items(self.columns, at / "columns")


class Deduplicate(Op):
    """Keeps the last row of each key.

    Rows of a database that are equally last but differ in the columns that remain fail the run. NULLs in keys are equal
    to each other. Types that Spark does not have are compared as text.
    """

    op: Literal["deduplicate"]
    keys: ColumnList = Field(title="Key columns", description="The columns that identify a row.")
    order_by: Column | None = Field(
        None,
        title="Order by",
        description="The row with the highest value in this column is kept; NULL is lowest. Without it, the last row "
        "in the "
        "order of the files is kept.",
    )

    def check(self, at: Pointer) -> Iterator[Diagnostic]:
        yield from check_repeated(self.keys, at / "keys")
        if self.order_by is not None:
            yield from check_order(self.order_by, at / "orderBy")

    def reads(self, at: Pointer) -> Reads:
        yield from _items(self.keys, at / "keys")
        if self.order_by is not None and not has_direction(self.order_by):
            yield self.order_by, at / "orderBy"


class SqlQuery(Op):
    """Replaces the rows with those of a query."""

    op: Literal["sql"]
    query: Text = Field(
        description="One SELECT over input, the rows that arrive.", json_schema_extra={"multiline": True}
    )

    def columns_after(self, columns: Columns) -> Columns:
        return Columns()


OP_KINDS = (Rename, Cast, Select, Drop, Derive, Filter, FillNull, Trim, Deduplicate, SqlQuery)
OPS: KindTable[type[Op]] = KindTable("op", ((tag_of(kind, "op"), kind) for kind in OP_KINDS))
AnyOp = Annotated[
    Rename | Cast | Select | Drop | Derive | Filter | FillNull | Trim | Deduplicate | SqlQuery, ByTag("op")
]


def _items(columns: Iterable[str], at: Pointer) -> Reads:
    return ((column, at / i) for i, column in enumerate(columns))


def _keys(columns: Iterable[str], at: Pointer) -> Reads:
    return ((column, at / "columns" / column) for column in columns)
