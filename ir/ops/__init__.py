"""Transform operations. Each is one small class, listed in the table `OPS`."""

from __future__ import annotations

from typing import Annotated

from ir.annotations import ByTag, tag_of
from ir.kinds import KindTable
from ir.ops.aggregate import Aggregate, AggregateColumn
from ir.ops.base import Column, ColumnList, Op
from ir.ops.columns import Cast, CastTo, Derive, Drop, FillNull, Rename, Select, Trim, TypeOrObject
from ir.ops.custom import ACCESSES, ERROR_COLUMN, Custom, CustomColumn
from ir.ops.explode import Explode
from ir.ops.extract import JsonPath, RegexExtract
from ir.ops.flatten import Flatten
from ir.ops.join import Join, JoinType
from ir.ops.rows import Deduplicate, Filter
from ir.ops.sql import SqlQuery
from ir.ops.union import Union
from ir.ops.window import OrderColumn, Window, WindowFunction

OP_KINDS = (
    Rename,
    Cast,
    Select,
    Drop,
    Derive,
    Filter,
    FillNull,
    Trim,
    RegexExtract,
    JsonPath,
    Flatten,
    Explode,
    Deduplicate,
    Window,
    Aggregate,
    Join,
    Union,
    SqlQuery,
    Custom,
)
OPS: KindTable[type[Op]] = KindTable("op", ((tag_of(kind, "op"), kind) for kind in OP_KINDS))
AnyOp = Annotated[
    Rename
    | Cast
    | Select
    | Drop
    | Derive
    | Filter
    | FillNull
    | Trim
    | RegexExtract
    | JsonPath
    | Flatten
    | Explode
    | Deduplicate
    | Window
    | Aggregate
    | Join
    | Union
    | SqlQuery
    | Custom,
    ByTag("op"),
]

__all__ = [
    "ACCESSES",
    "ERROR_COLUMN",
    "OPS",
    "Aggregate",
    "AggregateColumn",
    "AnyOp",
    "Cast",
    "CastTo",
    "Column",
    "ColumnList",
    "Custom",
    "CustomColumn",
    "Deduplicate",
    "Derive",
    "Drop",
    "Explode",
    "FillNull",
    "Filter",
    "Flatten",
    "Join",
    "JoinType",
    "JsonPath",
    "Op",
    "OrderColumn",
    "RegexExtract",
    "Rename",
    "Select",
    "SqlQuery",
    "Trim",
    "TypeOrObject",
    "Union",
    "Window",
    "WindowFunction",
]
