"""Diagnostics of expressions in a document, and the columns that they read."""

from __future__ import annotations

from collections.abc import Iterator

from ir.diagnostics import Diagnostic, diagnose
from ir.expressions import ExpressionError, parse_expression
from ir.pointers import Pointer


def check_expression(text: str, at: Pointer) -> Iterator[Diagnostic]:
    try:
        parse_expression(text)
    except ExpressionError as error:
        yield diagnose(error.code, at, error.message, hint=error.hint)


def expression_reads(text: str, at: Pointer) -> Iterator[tuple[str, Pointer]]:
    """Yield the columns of an expression with its position; none if it cannot be parsed."""
    try:
        columns = parse_expression(text).columns
    except ExpressionError:
        return
    yield from ((column, at) for column in columns)
