"""Compiles expressions: derived columns, filters and conditions."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from pyspark.sql import functions as F  # noqa: N812
from pyspark.sql import types as spark

from executors.spark.compiled import Derive, Expression, Working
from executors.spark.computing import cannot_fail
from executors.spark.errors import analysing
from executors.spark.steps import flags_of
from executors.spark.types import column_type, spark_type
from ir.expressions import ExpressionError, bind_expression, parse_expression
from ir.types import STRING, ColumnType

if TYPE_CHECKING:
    from executors.spark.columns import Compiler

Bound = tuple[str, frozenset[str]]
"""A checked expression over frame columns, and the flags that its value depends on."""


def derive(compiler: Compiler, columns: Mapping[str, str]) -> dict[str, Working]:
    """Compute columns from expressions over the columns before this op, and return them by name."""
    if not columns:
        return {}
    _find_rejected(compiler)
    bound = {name: _bind(compiler, text, name) for name, text in columns.items()}
    outs = compiler.new_columns(bound)
    types = _analyse(compiler, {outs[name]: (columns[name], sql) for name, (sql, _) in bound.items()})
    bound = {name: (sql, flags | _rejected(compiler, sql)) for name, (sql, flags) in bound.items()}
    guarded = tuple((outs[name], compiler.guarded(sql, flags)) for name, (sql, flags) in bound.items())
    compiler.stages.append(Derive(guarded))
    kinds = {name: _type_of(compiler, types[outs[name]], columns[name]) for name in bound}
    compiler.frame |= {outs[name]: kind for name, kind in kinds.items()}
    return {name: Working(outs[name], kinds[name], flags=flags) for name, (_, flags) in bound.items()}


def keep(compiler: Compiler, where: str) -> None:
    """Mark the rows for which the condition is true, and the bad rows, which the sink validates. The sink drops the
    other rows.

    They are not dropped earlier, because each row must stay in the position that it has in its packed batch.
    """
    compiler.keep_where(*condition(compiler, where, "filter.not_boolean"))


def condition(compiler: Compiler, text: str, code: str) -> Bound:
    """Return a checked boolean expression, and the flags that its value depends on. Raises Terminal `code`."""
    _find_rejected(compiler)
    sql, flags = _bind(compiler, text)
    kind = _analyse(compiler, {"condition": (text, sql)})["condition"]
    if not isinstance(kind, spark.BooleanType):
        raise compiler.refuse(
            code, f"{text!r} returns {kind.simpleString()}, not boolean.", "Use a comparison: amount > 0."
        )
    return sql, flags | _rejected(compiler, sql)


def _find_rejected(compiler: Compiler) -> None:
    """Run the casts so far that reject rows, so that their flags are available to later expressions."""
    for name, column in list(compiler.working.items()):
        if not compiler.masked_by.isdisjoint(flags_of(column.steps)):
            compiler.need(name)


def _rejected(compiler: Compiler, sql: str) -> frozenset[str]:
    """Return the flags so far of rows for which an expression must not be evaluated; empty if the expression cannot
    fail."""
    if not compiler.masked_by or cannot_fail(sql, compiler.frame):
        return frozenset()
    return compiler.masked_by & {flag for program in compiler.programs() for flag in program.flags}


def _bind(compiler: Compiler, text: str, column: str = "") -> Bound:
    """Return the checked expression. `column` is the column that it computes."""
    try:
        needed = {name: compiler.need(name) for name in parse_expression(text).columns}
    except ExpressionError as error:
        raise compiler.refuse(error.code, error.message, error.hint) from error
    sql = bind_expression(text, {name: base for name, (base, _) in needed.items()})
    compiler.expressions.append(Expression(compiler.node, compiler.location, text, sql, column))
    return sql, frozenset().union(*(flags for _, flags in needed.values()))


def _analyse(compiler: Compiler, expressions: Mapping[str, tuple[str, str]]) -> dict[str, spark.DataType]:
    """Return the types of expressions over the frame, as analysed by Spark. Raises Terminal `expression.invalid`."""
    schema = [spark.StructField(name, spark_type(kind)) for name, kind in compiler.frame.items()]
    frame = compiler.session.start().createDataFrame([], spark.StructType(schema))
    types: dict[str, spark.DataType] = {}
    for out, (text, sql) in expressions.items():
        with analysing(compiler.node, compiler.location, text, _types_hint(compiler, text)):
            types[out] = frame.select(F.expr(sql).alias(out)).schema[out].dataType
    return types


def _types_hint(compiler: Compiler, text: str) -> str:
    kinds = {name: compiler.working[name].type for name in sorted(parse_expression(text).columns)}
    hint = f"In it {', '.join(f'{name} is {kind}' for name, kind in kinds.items())}. " if kinds else ""
    if texts := [name for name, kind in kinds.items() if kind == STRING]:
        cast_first = bind_expression("cast(x as double)", {"x": texts[0]})
        return f"{hint}Cast what is a number or a date, as in {cast_first}."
    return f"{hint}Cast where the types do not fit each other."


def _type_of(compiler: Compiler, kind: spark.DataType, text: str) -> ColumnType:
    found = column_type(kind)
    if found is None:
        raise compiler.refuse(
            "expression.type",
            f"{text!r} returns {kind.simpleString()}, which no column can store.",
            "Convert it to a plain value: cast(… as string), element_at(…, 1), to_json(…).",
        )
    return found
