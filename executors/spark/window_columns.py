"""Compiles the op window."""

from __future__ import annotations

from typing import TYPE_CHECKING

from executors.spark.compiled import Expression, Tie, Window, WindowColumn, Working
from executors.spark.types import is_native
from ir import ops
from ir.aggregate_types import sum_type
from ir.types import ColumnType

if TYPE_CHECKING:
    from executors.spark.columns import Compiler

_SUMMED = ("integer", "bigint", "float", "decimal")


def window(compiler: Compiler, op: ops.Window) -> None:
    """Compute columns from the rows of each partition. Filtered and bad rows are ignored, and get NULL."""
    for function in op.columns:
        compiler.refuse_existing(function.as_)
    keys = [compiler.need(name) for name in op.partition_by]
    order = [compiler.order_column(by.column, "window.order_type") for by in op.order_by]
    arguments = {f.column: _argument(compiler, f) for f in op.columns if f.column is not None}
    flags = frozenset().union(*(flags for _, flags in (*keys, *order, *arguments.values())))
    outs = compiler.new_columns(f.as_ for f in op.columns)
    columns = tuple(
        WindowColumn(outs[f.as_], f.function, arguments[f.column][0] if f.column is not None else None, f.offset or 1)
        for f in op.columns
    )
    ordered = tuple((base, by.direction == "descending") for (base, _), by in zip(order, op.order_by, strict=True))
    tie = _tie(compiler, op, order[0][0])
    stage = Window(tuple(base for base, _ in keys), ordered, columns, compiler.eligible(flags), tie)
    compiler.stages.append(stage)
    for function in op.columns:
        _add(compiler, outs[function.as_], function, flags)


def _tie(compiler: Compiler, op: ops.Window, first: str) -> Tie | None:
    """Return the tie of the op if the source has no order, else None. Of the functions, only rank returns the same
    value for rows that are equal in the order."""
    if compiler.keeps_order or all(f.function == "rank" for f in op.columns):
        return None
    flag = compiler.tie_flag(", ".join(by.column for by in op.order_by), "neither of them comes first")
    return Tie(flag, first, compiler.all_used())


def _argument(compiler: Compiler, function: ops.WindowFunction) -> tuple[str, frozenset[str]]:
    name = str(function.column)
    kind = compiler.get(name).type
    if function.function == "runningSum" and not (is_native(kind) and kind.kind in _SUMMED):
        raise compiler.refuse(
            "window.sum_type", f"column {name!r} is {kind}, which has no sum.", "Cast it to a number first."
        )
    return compiler.need(name)


def _add(compiler: Compiler, out: str, function: ops.WindowFunction, flags: frozenset[str]) -> None:
    given = compiler.get(function.column).type if function.column is not None else None
    if function.function in ("lag", "lead") and given is not None:
        compiler.add_computed(function.as_, out, given, flags)
        return
    kind = ColumnType("bigint")
    if given is not None:
        kind = given if given.kind == "float" else sum_type(given)
        sum_ = f"sum({function.column})"
        compiler.expressions.append(Expression(compiler.node, compiler.location, sum_, out, function.as_))
    compiler.frame[out] = kind
    compiler.working[function.as_] = Working(out, kind, flags=flags)
