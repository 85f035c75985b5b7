"""Expressions as parts of a document: the diagnostics of one, and the columns that it reads."""

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
    """Return the columns of an expression; none if it cannot be parsed."""
    try:
        columns = parse_expression(text).columns
    except ExpressionError:
        return
    yield from ((column, at) for column in columns)
