"""Messages of refused expressions."""

from __future__ import annotations

from sqlglot import exp

from ir.diagnostics import shown
from ir.errors import FlowError
from ir.expressions.functions import FUNCTIONS, NOT_REPEATABLE, REFUSED
from ir.spelling import guess


class ExpressionError(FlowError):
    """An expression that must not run."""


def malformed(text: str, reason: str) -> ExpressionError:
    if not text.strip():
        return ExpressionError("expression.malformed", "There is no expression yet.")
    return ExpressionError("expression.malformed", f"{shown(text)} is not one Spark SQL expression: {reason}.")


def refused(message: str, hint: str = "", code: str = "expression.not_allowed") -> ExpressionError:
    return ExpressionError(code, message + ".", hint=hint)


_DESCRIPTIONS: dict[type[exp.Expr], str] = {
    exp.Alias: "A name given with AS",
    exp.Bracket: "An index in brackets",
    exp.Concat: "A text literal directly after another",
    exp.Dot: "A field of a computed value",
    exp.Exists: "A subquery",
    exp.Lambda: "A lambda function",
    exp.Parameter: "A variable",
    exp.Placeholder: "A placeholder",
    exp.RawString: "A raw text literal",
    exp.Select: "A query",
    exp.Star: "A star",
    exp.Subquery: "A subquery",
    exp.Tuple: "A list of values",
    exp.Window: "A window function",
}
_HINTS: dict[type[exp.Expr], str] = {
    exp.Bracket: "Use element_at(column, 1), which counts from 1.",
    exp.Concat: "Write a quote inside a text as \\', and join texts with concat().",
    exp.NullSafeNEQ: "Write NOT (a <=> b).",
    exp.RawString: "Use an ordinary literal and double its backslashes.",
    exp.Star: "Name the columns.",
}


def describe(node: exp.Expr) -> str:
    return _DESCRIPTIONS.get(type(node), type(node).__name__)


def hint_of(node: exp.Expr) -> str:
    return _HINTS.get(type(node), "")


def not_repeatable(name: str) -> ExpressionError:
    return refused(
        f"{name} returns different values when a run is retried",
        hint=f"If a column is meant, write `{name}` in backticks.",
    )


def unknown_function(name: str) -> ExpressionError:
    if name in NOT_REPEATABLE:
        return refused(f"{name}() returns different values when a run is retried")
    for names, reason in REFUSED:
        if name in names:
            return refused(f"{name}() is not allowed: {reason}")
    near = guess(name, FUNCTIONS, most=len(FUNCTIONS))
    return refused(f"There is no allowed function {shown(name)}", hint=f"Did you mean {near}?" if near else "")
