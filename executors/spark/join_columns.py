"""Compiles the op join."""

from __future__ import annotations

from typing import TYPE_CHECKING

from executors.spark.compiled import Join
from ir import ops
from ir.join_keys import common_key_type
from ir.types import ColumnType

if TYPE_CHECKING:
    from executors.spark.columns import Compiler


def join(compiler: Compiler, op: ops.Join) -> None:
    """Look each row up by its keys, and keep it or mark it as filtered. Filtered and bad rows are not looked up."""
    reference = compiler.reference_of(op)
    compiler.expressions += reference.compiled.expressions
    kinds = {field.name: field.type for field in reference.compiled.fields}
    types = {own: _key_type(compiler, own, other, kinds[other], op.with_) for own, other in op.on.items()}
    needed = {own: compiler.need(own) for own in op.on}
    flags = frozenset().union(*(flags for _, flags in needed.values()))
    asked, number = compiler.eligible(flags), len(compiler.stages)
    keys = tuple((f"CASE WHEN {asked} THEN {needed[own][0]} END", other, types[own]) for own, other in op.on.items())
    outs, match = compiler.new_columns(op.columns), f"_flow_match_{number}"
    repeated = f"_flow_repeated_{number}" if op.adds_columns else None
    columns = tuple((outs[column], column) for column in op.columns)
    compiler.stages.append(Join(compiler.node, reference, keys, columns, asked, match, repeated))
    for column, name in op.columns.items():
        compiler.add_computed(name, outs[column], kinds[column], flags)
    if op.type != "left":
        compiler.keep_where(f"NOT {match}" if op.type == "anti" else match, flags)


def _key_type(compiler: Compiler, own: str, other: str, kind: ColumnType, reference: str) -> ColumnType:
    """Return the type in which two key columns are compared. Raises Terminal `join.key_type`."""
    if (common := common_key_type(compiler.get(own).type, kind)) is not None:
        return common
    raise compiler.refuse(
        "join.key_type",
        f"column {own!r} is {compiler.get(own).type}, but {other!r} of {reference} is {kind}.",
        "Cast one of them first, so that both have the same type. Floats, UUIDs, times and JSON are compared as "
        "decimals or texts.",
    )
