"""Compiles the row rules of validate nodes."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from executors.spark.compiled import Derive, ExcludeRejected, RuleColumns
from executors.spark.expression_columns import condition
from ir import rules
from ir.nodes import Validate
from ir.pipeline import Path
from ir.types import ColumnType

if TYPE_CHECKING:
    from executors.spark.columns import Compiler


def validate(compiler: Compiler, rule: rules.RowRule) -> None:
    """Add the Spark columns of a row rule. Its condition is not evaluated for rows to which the rule does not apply,
    nor for rows that are bad, filtered or rejected by an earlier node."""
    applies = value = None
    if rule.when is not None:
        applies = _rule_column(compiler, *condition(compiler, rule.when, "rule.not_boolean"))
    if isinstance(rule, rules.Expression):
        sql, flags = condition(compiler, rule.expression, "rule.not_boolean")
        value = _rule_column(compiler, f"CASE WHEN {applies} THEN {sql} END" if applies else sql, flags)
    compiler.rules.append(RuleColumns(applies, value))


def _rule_column(compiler: Compiler, sql: str, flags: Iterable[str]) -> str:
    column = f"_flow_rule_{len(compiler.stages)}"
    compiler.stages.append(Derive(((column, compiler.guarded(sql, flags)),)))
    compiler.frame[column] = ColumnType("boolean")
    return column


def exclude_rejected(compiler: Compiler) -> None:
    """From this op on, evaluate no expression for rows that the rules so far reject: an error would end the run for a
    row that is not loaded."""
    out = f"_flow_valid_{len(compiler.stages)}"
    compiler.stages.append(ExcludeRejected(out, compiler.finish()))
    compiler.frame[out] = ColumnType("boolean")
    compiler.valid_column = out


def may_fail_for_rejected(path: Path, index: int) -> bool:
    """Return whether a validate node needs Spark and a node before it rejects rows."""
    return _needs_spark(path.validates[index]) and any(map(_drops_rows, path.validates[:index]))


def _needs_spark(node: Validate) -> bool:
    return any(rule.when is not None or isinstance(rule, rules.Expression) for rule in node.row_level)


def _drops_rows(node: Validate) -> bool:
    return any(rule.on_fail != "warn" for rule in node.row_level)
