"""Transform operations. Each is one small class; `OPS` is the table of them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Annotated, Literal

from pydantic import Field

from ir.annotations import ByTag, JsonScalar, tag_of
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
    """Give columns new names; `{old: new}`."""

    op: Literal["rename"]
    columns: Annotated[dict[Column, Column], Field(min_length=1, max_length=MAX_COLUMNS)]

    def check(self, at: Pointer) -> Iterator[Diagnostic]:
        given: set[str] = set()
        for old, new in self.columns.items():
            place = at / "columns" / old
            yield from check_column(new, place)
            if new in given:
                yield diagnose("column.repeated", place, f"Two columns are renamed to {shown(new)}.")
            given.add(new)

    def reads(self, at: Pointer) -> Reads:
        yield from _keys(self.columns, at)

    def columns_after(self, columns: Columns) -> Columns:
        return columns.renamed(self.columns)


class Cast(Op):
    """Try to turn columns into a type; what does not fit is a violation of the row, never a silent NULL."""

    op: Literal["cast"]
    columns: Annotated[dict[Column, TypeName], Field(min_length=1, max_length=MAX_COLUMNS)]

    def check(self, at: Pointer) -> Iterator[Diagnostic]:
        for column, type_name in self.columns.items():
            yield from check_type(type_name, at / "columns" / column)

    def reads(self, at: Pointer) -> Reads:
        yield from _keys(self.columns, at)


class Select(Op):
    """Keep these columns, in this order."""

    op: Literal["select"]
    columns: ColumnList

    def check(self, at: Pointer) -> Iterator[Diagnostic]:
        yield from check_repeated(self.columns, at / "columns")

    def reads(self, at: Pointer) -> Reads:
        yield from _items(self.columns, at / "columns")

    def columns_after(self, columns: Columns) -> Columns:
        return columns.selected(self.columns)


class Drop(Op):
    """Leave these columns out."""

    op: Literal["drop"]
    columns: ColumnList

    def check(self, at: Pointer) -> Iterator[Diagnostic]:
        yield from check_repeated(self.columns, at / "columns")

    def reads(self, at: Pointer) -> Reads:
        yield from _items(self.columns, at / "columns")

    def columns_after(self, columns: Columns) -> Columns:
        return columns.without(self.columns)


class Derive(Op):
    """Add or replace columns by Spark SQL expressions; every expression sees the columns before this op."""

    op: Literal["derive"]
    columns: Annotated[dict[Column, Text], Field(min_length=1, max_length=MAX_COLUMNS)]

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
    """Keep rows for which the Spark SQL condition is true."""

    op: Literal["filter"]
    where: Text

    def check(self, at: Pointer) -> Iterator[Diagnostic]:
        yield from check_expression(self.where, at / "where")

    def reads(self, at: Pointer) -> Reads:
        yield from expression_reads(self.where, at / "where")


class FillNull(Op):
    """Replace NULL by a value."""

    op: Literal["fillNull"]
    columns: Annotated[dict[Column, Scalar], Field(min_length=1, max_length=MAX_COLUMNS)]

    def reads(self, at: Pointer) -> Reads:
        yield from _keys(self.columns, at)


class Trim(Op):
    """Cut spaces off both ends of text columns."""

    op: Literal["trim"]
    columns: ColumnList

    def check(self, at: Pointer) -> Iterator[Diagnostic]:
        yield from check_repeated(self.columns, at / "columns")

    def reads(self, at: Pointer) -> Reads:
        yield from _items(self.columns, at / "columns")


class Deduplicate(Op):
    """Keep the last row of each key: by `orderBy` (NULL comes first), without it in the order of the files.

    Rows of a database that are equally last and differ in what is left of them stop the run: to keep one of them would
    be chance. NULLs in keys are equal to each other. Types that Spark lacks are compared as text.
    """

    op: Literal["deduplicate"]
    keys: ColumnList
    order_by: Column | None = None

    def check(self, at: Pointer) -> Iterator[Diagnostic]:
        yield from check_repeated(self.keys, at / "keys")
        if self.order_by is not None:
            yield from check_order(self.order_by, at / "orderBy")

    def reads(self, at: Pointer) -> Reads:
        yield from _items(self.keys, at / "keys")
        if self.order_by is not None and not has_direction(self.order_by):
            yield self.order_by, at / "orderBy"


class SqlQuery(Op):
    """Replace the rows by those of a query over `input`."""

    op: Literal["sql"]
    query: Text

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
