"""Transform operations. Each is one small class; `OPS` is the table of them."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from ir.base import Spec, Text
from ir.types import TypeName

Column = Annotated[str, Field(max_length=1000)]
Columns = Annotated[list[Column], Field(min_length=1)]
Scalar = str | bool | int | float


class Rename(Spec):
    """Give columns new names; `{old: new}`."""

    op: Literal["rename"]
    columns: Annotated[dict[Column, Column], Field(min_length=1)]


class Cast(Spec):
    """Try to turn columns into a type; what does not fit is a violation of the row, never a silent NULL."""

    op: Literal["cast"]
    columns: Annotated[dict[Column, TypeName], Field(min_length=1)]


class Select(Spec):
    """Keep these columns, in this order."""

    op: Literal["select"]
    columns: Columns


class Drop(Spec):
    """Leave these columns out."""

    op: Literal["drop"]
    columns: Columns


class Derive(Spec):
    """Add or replace columns by Spark SQL expressions; every expression sees the columns before this op."""

    op: Literal["derive"]
    columns: Annotated[dict[Column, Text], Field(min_length=1)]


class Filter(Spec):
    """Keep rows for which the Spark SQL condition is true."""

    op: Literal["filter"]
    where: Text


class FillNull(Spec):
    """Replace NULL by a value."""

    op: Literal["fillNull"]
    columns: Annotated[dict[Column, Scalar], Field(min_length=1)]


class Trim(Spec):
    """Cut spaces off both ends of text columns."""

    op: Literal["trim"]
    columns: Columns


class Deduplicate(Spec):
    """Keep one row per key."""

    op: Literal["deduplicate"]
    keys: Columns
    order_by: Column | None = None


class Sql(Spec):
    """Replace the rows by those of a query over `input`."""

    op: Literal["sql"]
    query: Text


OP_KINDS = (Rename, Cast, Select, Drop, Derive, Filter, FillNull, Trim, Deduplicate, Sql)
Op = Annotated[
    Rename | Cast | Select | Drop | Derive | Filter | FillNull | Trim | Deduplicate | Sql, Field(discriminator="op")
]
