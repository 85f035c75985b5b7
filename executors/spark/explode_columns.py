"""Compiles the op explode."""

from __future__ import annotations

from typing import TYPE_CHECKING

from executors.spark.compiled import Working
from executors.spark.exploding import Explode
from executors.spark.extracts import JSON, add_value, require_json
from executors.validation import ELEMENT, CastFlag, RejectFlag
from ir import ops
from ir.types import ColumnType

if TYPE_CHECKING:
    from executors.spark.columns import Compiler


def explode(compiler: Compiler, op: ops.Explode) -> None:
    """Turn a record into several rows in the reader. Bad records stay one row."""
    require_json(compiler, op.op, op.field)
    for name in op.made:
        compiler.refuse_existing(name)
    field = compiler.base_of(op.field)
    step = Explode(
        base=field.base,
        element=compiler.new_columns([op.as_])[op.as_],
        keep="_flow_keep_exploded",
        unreadable=_unreadable(compiler, op),
        too_large=compiler.add_flag(lambda flag: RejectFlag(flag, compiler.node, "size", op.field, _TOO_LARGE)),
        bad=tuple(sorted(field.flags)),
        keep_empty=op.keep_empty,
        empty_as_null=compiler.empty_as_null,
    )
    compiler.explode(step, JSON)
    element, kind = Working(step.element, JSON, flags=field.flags | set(step.flags)), ColumnType.parse(op.type)
    if kind == JSON:
        compiler.working[op.as_] = element
    else:
        value = {"op": "jsonPath", "field": op.as_, "path": "$", "as": op.as_, "type": op.type, "onMissing": "null"}
        add_value(compiler, element, ops.JsonPath.model_validate(value))
    if op.index_as is not None:
        compiler.working[op.index_as] = Working(ELEMENT, ColumnType("integer"))


_TOO_LARGE = "makes rows of more than 64 MB: drop columns that the rows do not need before explode, or split it"


def _unreadable(compiler: Compiler, op: ops.Explode) -> str:
    """Return the flag of values that are not arrays. They reject the record even if other bad values become NULL: the
    record would otherwise be filtered like one without elements, and not be reported."""
    if compiler.retains_bad:
        return compiler.add_flag(lambda flag: CastFlag(flag, compiler.node, op.field, "array"))
    return compiler.add_flag(lambda flag: RejectFlag(flag, compiler.node, "type", op.field, "is not a JSON array"))
