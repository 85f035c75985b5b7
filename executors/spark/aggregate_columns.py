"""Compiles the op aggregate."""

from __future__ import annotations

from typing import TYPE_CHECKING

from executors.spark.batch_passthrough import UNREADABLE
from executors.spark.compiled import Aggregate, Derive, Expression, GroupColumn, Groups, Working
from executors.spark.steps import flags_of
from executors.validation import NoBranchFlag, TieFlag
from ir import ops
from ir.aggregate_types import result_type, why_no_group_key, why_not_computable
from ir.types import STRING, ColumnType

if TYPE_CHECKING:
    from executors.spark.columns import Compiler

_BOOLEAN = ColumnType("boolean")


def aggregate(compiler: Compiler, op: ops.Aggregate) -> None:
    """Compute columns from the rows of each group, and keep the first row of each group as its result. Filtered and bad
    rows are ignored. All columns are converted to their types first, because a bad value in a group would not be
    reported later."""
    for name, working in list(compiler.working.items()):
        if flags_of(working.steps):
            compiler.need(name)
    keys = [_key(compiler, name) for name in op.by]
    columns = tuple(_column(compiler, column) for column in op.columns)
    number = len(compiler.stages)
    outside, is_first, keep = (f"_flow_{word}_{number}" for word in ("outside", "first", "keep"))
    rows, records = f"_flow_group_rows_{number}", f"_flow_group_records_{number}"
    gone, before = compiler.gone(), compiler.filter_column
    compiler.stages += [
        Derive(((outside, _outside(compiler)),)),
        Aggregate(tuple(keys), columns, f"NOT ({gone} OR {outside})", is_first, rows, records),
        Derive(((keep, f"NOT {gone} AND ({outside} OR {is_first})"),)),
    ]
    types = {outside: _BOOLEAN, is_first: _BOOLEAN, rows: ColumnType("bigint"), records: STRING}
    compiler.frame |= types | {column.out: column.type for column in columns}
    compiler.working = _group(compiler, op, columns, frozenset({outside}))
    compiler.filter_column = compiler.filter_columns[compiler.node] = keep
    values = {name: column.base for name, column in compiler.working.items()}
    compiler.groups = Groups(compiler.node, before, keep, rows, records, values)


def _key(compiler: Compiler, name: str) -> str:
    if why := why_no_group_key(compiler.get(name).type):
        raise _refused(compiler, name, why)
    return compiler.need(name)[0]


def _column(compiler: Compiler, column: ops.AggregateColumn) -> GroupColumn:
    kind = compiler.get(column.column).type if column.column is not None else None
    if column.column is not None and kind and (why := why_not_computable(column.function, kind)):
        raise _refused(compiler, column.column, why)
    argument = compiler.need(column.column)[0] if column.column is not None else None
    if column.function == "avg" and kind is not None and kind.kind != "decimal":
        argument = f"cast({argument} AS decimal(20,0))"  # otherwise Spark returns a float
    (out,) = compiler.new_columns([column.as_]).values()
    found = result_type(column.function, kind)
    if found is None:
        raise LookupError(f"{column.function} without a column")
    compiler.frame[out] = found
    text = f"{column.function}({column.column or '*'})"
    compiler.expressions.append(Expression(compiler.node, compiler.location, text, out, column.as_))
    return GroupColumn(out, column.function, argument, found)


def _refused(compiler: Compiler, name: str, why: str) -> Exception:
    return compiler.refuse(
        "aggregate.type",
        f"column {name!r} is {why}.",
        "Cast it before the aggregate: floats to a decimal, other types to text.",
    )


def _outside(compiler: Compiler) -> str:
    """Return a condition that is true for rows that are rejected or end the run, and therefore belong to no group."""
    tried = compiler.tried_flags() | {
        flag.column for flag in compiler.flags if isinstance(flag, TieFlag | NoBranchFlag)
    }
    return " OR ".join([UNREADABLE, *(f"coalesce({flag}, FALSE)" for flag in sorted(tried))])


def _group(
    compiler: Compiler, op: ops.Aggregate, columns: tuple[GroupColumn, ...], flags: frozenset[str]
) -> dict[str, Working]:
    """Return the columns of the groups. Keys have the values of the first row."""
    keys = {name: Working(compiler.get(name).base, compiler.get(name).type, flags=flags) for name in op.by}
    computed = zip(op.columns, columns, strict=True)
    return keys | {column.as_: Working(found.out, found.type, flags=flags) for column, found in computed}
