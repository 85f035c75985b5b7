"""Compiles the ops that extract values from text."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from executors.spark.compiled import Working
from executors.spark.steps import CheckObject, FindMatch, FindValue
from executors.validation import CastFlag, RejectFlag
from ir import ops
from ir.json_paths import parse_json_path
from ir.types import STRING, ColumnType

if TYPE_CHECKING:
    from executors.spark.columns import Compiler

JSON = ColumnType("json")


def regex_extract(compiler: Compiler, op: ops.RegexExtract) -> None:
    field = compiler.base_of(op.field)
    why = f"{op.field} does not match {op.pattern}"
    step = FindMatch(
        op.pattern,
        op.group,
        unreadable=_type_flag(compiler, op.field, "string"),
        missing=_missing(compiler, op.as_, why) if op.on_no_match == "reject" else None,
    )
    compiler.working[op.as_] = Working(field.base, STRING, (step,), field.flags)


def json_path(compiler: Compiler, op: ops.JsonPath) -> None:
    require_json(compiler, op.op, op.field)
    add_value(compiler, compiler.base_of(op.field), op)


def add_value(compiler: Compiler, field: Working, op: ops.JsonPath) -> None:
    """Add the column of a value in the JSON that `field` holds."""
    kind = ColumnType.parse(op.type)
    missing = _missing(compiler, op.as_, f"{op.field} has none at {op.path}") if op.on_missing == "reject" else None
    step = FindValue(
        parse_json_path(op.path),
        as_json=kind == JSON or kind.pg_name in ("json", "jsonb"),
        unreadable=_type_flag(compiler, op.field, "json"),
        nested=_type_flag(compiler, op.as_, op.type),
        missing=missing,
        empty_as_null=compiler.empty_as_null,
    )
    compiler.working[op.as_] = Working(field.base, STRING, (step,), field.flags)
    compiler.convert(op.as_, kind)


def flatten(compiler: Compiler, op: ops.Flatten) -> None:
    require_json(compiler, op.op, op.field)
    for path in op.columns:
        compiler.refuse_existing(op.name_of(path))
    paths, empty_as_null = op.paths(), compiler.empty_as_null
    check = CheckObject(tuple(paths.values()), _type_flag(compiler, op.field, "object"), None, empty_as_null)
    if op.on_unknown == "reject":
        others = "has members other than those that flatten names"
        unknown = compiler.add_flag(lambda flag: RejectFlag(flag, compiler.node, "members", op.field, others))
        check = replace(check, unknown=unknown)
    # Checked even if no later op uses the new columns.
    field = compiler.checked(op.field, check)
    for path, kind in op.columns.items():
        value = {"op": "jsonPath", "field": op.field, "path": path, "as": op.name_of(path), "type": kind}
        add_value(compiler, field, ops.JsonPath.model_validate({**value, "onMissing": op.on_missing}))


def require_json(compiler: Compiler, op: str, name: str) -> None:
    kind = compiler.get(name).type
    if kind not in (STRING, JSON):
        raise compiler.refuse(
            "column.not_json",
            f"column {name!r} is {kind}, but {op} needs JSON or text.",
            "Name a column that contains JSON.",
        )


def _type_flag(compiler: Compiler, name: str, kind: str) -> str:
    return compiler.add_flag(lambda flag: CastFlag(flag, compiler.node, name, kind))


def _missing(compiler: Compiler, name: str, why: str) -> str:
    return compiler.add_flag(lambda flag: RejectFlag(flag, compiler.node, "missing", name, f"has no value: {why}"))
