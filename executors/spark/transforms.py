"""Compiles each op with one small function, listed in one table."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from decimal import Decimal
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from executors.grammar import PLAIN, Written, convert_column
from executors.spark.aggregate_columns import aggregate
from executors.spark.branch_columns import take
from executors.spark.custom_columns import custom
from executors.spark.deduplicate_columns import deduplicate
from executors.spark.explode_columns import explode
from executors.spark.expression_columns import derive, keep
from executors.spark.extracts import flatten, json_path, regex_extract
from executors.spark.join_columns import join
from executors.spark.steps import Fill, Trim
from executors.spark.window_columns import window
from ir import ops
from ir.expressions.select import parse_query
from ir.kinds import KindTable
from ir.types import STRING, ColumnType

if TYPE_CHECKING:
    from executors.spark.columns import Compiler


def apply_op(compiler: Compiler, op: Any) -> None:
    """Apply one op. Raises the errors of `compile_path`, and KeyError for an op that is not implemented."""
    OPS[op.op](compiler, op)


def _rename(compiler: Compiler, op: ops.Rename) -> None:
    for name in op.columns:
        compiler.get(name)
    renamed = [(op.columns.get(name, name), column) for name, column in compiler.working.items()]
    _refuse_repeated(compiler, (name for name, _ in renamed))
    compiler.working = dict(renamed)


def _select(compiler: Compiler, op: ops.Select) -> None:
    _refuse_repeated(compiler, op.columns)
    compiler.working = {name: compiler.get(name) for name in op.columns}


def _drop(compiler: Compiler, op: ops.Drop) -> None:
    for name in op.columns:
        compiler.get(name)
    remaining = {name: column for name, column in compiler.working.items() if name not in op.columns}
    if not remaining:
        raise compiler.refuse("column.none_left", "no column would be left.", "Keep at least one.")
    compiler.working = remaining


def _refuse_repeated(compiler: Compiler, names: Iterable[str]) -> None:
    seen: set[str] = set()
    for name in names:
        if name in seen:
            raise compiler.refuse("column.repeated", f"there would be two columns {name!r}.", "Rename one of them.")
        seen.add(name)


def _cast(compiler: Compiler, op: ops.Cast) -> None:
    for name, to in op.columns.items():
        if isinstance(to, str):
            compiler.convert(name, ColumnType.parse(to))
            continue
        kind, written = compiler.get(name).type, Written.of(to)
        if written != PLAIN and kind != STRING:
            raise compiler.refuse(
                "cast.type",
                f"column {name!r} is {kind}, but formats and separators are for text.",
                "Remove them: the column is read already.",
            )
        compiler.convert(name, ColumnType.parse(to.type), written)


def _derive(compiler: Compiler, op: ops.Derive) -> None:
    compiler.working |= derive(compiler, op.columns)


def _filter(compiler: Compiler, op: ops.Filter) -> None:
    keep(compiler, op.where)


def _sql(compiler: Compiler, op: ops.SqlQuery) -> None:
    query = parse_query(op.query)
    if query.where is not None:
        keep(compiler, query.where)
    computed = derive(compiler, {item.name: item.text for item in query.items if item.column is None})
    named = {item.name: computed.get(item.name) or compiler.get(item.column or "") for item in query.items}
    kept = dict(compiler.working) if query.has_all else {}
    _refuse_repeated(compiler, (*kept, *named))
    compiler.working = {**kept, **named}


def _unite(compiler: Compiler, op: ops.Union) -> None:
    """Check that the rows have the columns of those that they meet, and put them in the same order."""
    own = {name: column.type for name, column in compiler.working.items()}
    united = compiler.united or own
    here = f"the rows of {compiler.source_node}"
    for there, others, whose in ((united, own, here), (own, united, "the rows of the first input")):
        if missing := [name for name in there if name not in others]:
            raise compiler.refuse(
                "union.column_missing",
                f"{whose} have no column {', '.join(map(repr, missing))}.",
                "Add it with derive before the union, such as CAST(NULL AS STRING), or drop it from the other rows.",
            )
    for name, kind in united.items():
        if own[name] != kind:
            raise compiler.refuse(
                "union.column_type",
                f"column {name!r} is {own[name]} in {here}, but {kind} in those of the first input.",
                "Cast it to the same type before the union.",
            )
    compiler.united = united
    compiler.working = {name: compiler.working[name] for name in united}


def _trim(compiler: Compiler, op: ops.Trim) -> None:
    for name in op.columns:
        kind = compiler.get(name).type
        if kind != STRING:
            raise compiler.refuse(
                "trim.type",
                f"column {name!r} is {kind}, but trim needs text.",
                "Numbers and dates are already trimmed. Remove the column.",
            )
        compiler.add_step(name, Trim(), STRING)


def _fill_null(compiler: Compiler, op: ops.FillNull) -> None:
    for name, value in op.columns.items():
        kind = compiler.get(name).type
        fitting = _fitting(value, kind)
        if fitting is None:
            raise compiler.refuse(
                "fillNull.type",
                f"{value!r} cannot be stored in column {name!r}, which is {kind}.",
                "Write a value of that type, or cast the column first.",
            )
        compiler.add_step(name, Fill(fitting), kind)


def _fitting(value: str | bool | int | float, kind: ColumnType) -> Any:
    """Return the value in the type of the column, or None if it does not have that type: a number is not text, and text
    is not a number."""
    wanted = _WRITTEN_AS.get(kind.kind, (str,))
    if not isinstance(value, wanted) or (isinstance(value, bool) and bool not in wanted):
        return None
    text = pa.array([str(value).lower() if isinstance(value, bool) else _plain(value)])
    typed, bad = convert_column(text, kind)
    return None if bad[0].as_py() else typed[0].as_py()


def _plain(value: str | int | float) -> str:
    return value if isinstance(value, str) else format(Decimal(str(value)), "f")


_WRITTEN_AS: dict[str, tuple[type, ...]] = {
    "integer": (int,),
    "bigint": (int, str),  # numbers above 2^53 are text in documents
    "float": (int, float),
    "decimal": (int, float, str),
    "boolean": (bool,),
}

OPS: KindTable[Callable[[Compiler, Any], None]] = KindTable(
    "op",
    (
        ("rename", _rename),
        ("cast", _cast),
        ("select", _select),
        ("drop", _drop),
        ("derive", _derive),
        ("filter", _filter),
        ("fillNull", _fill_null),
        ("trim", _trim),
        ("regexExtract", regex_extract),
        ("jsonPath", json_path),
        ("flatten", flatten),
        ("explode", explode),
        ("deduplicate", deduplicate),
        ("window", window),
        ("aggregate", aggregate),
        ("join", join),
        ("sql", _sql),
        ("union", _unite),
        ("custom", custom),
        ("take", take),
    ),
)
