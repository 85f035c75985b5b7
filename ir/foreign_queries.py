"""How queries in a dialect that sqlglot parses are read: one SELECT, and what none of its parts may be.

sqlglot's tree decides; the text itself is sent, because regenerated text could mean something else.
"""

from __future__ import annotations

from collections.abc import Sequence

from sqlglot import exp
from sqlglot.dialects.dialect import Dialect
from sqlglot.errors import SqlglotError
from sqlglot.tokenizer_core import Token

from ir.budget import spend
from ir.queries import MAX_BYTES, QueryRefused

Refusals = Sequence[tuple[type[exp.Expr], str]]

CHANGES: Refusals = (
    (exp.DML, "A query changes nothing."),
    (exp.DDL, "A query changes nothing."),
    (exp.Command, "A query is one SELECT."),
)


def without_end(text: str) -> str:
    """Return the text without a semicolon at its end. Raises QueryRefused for a text that is too long."""
    if "\0" in text or len(text.encode(errors="replace")) > MAX_BYTES:
        raise QueryRefused("query.malformed", f"A query has at most {MAX_BYTES:,} bytes and no NUL character.")
    return text.strip().rstrip("; \r\n\t")


def parse_select(text: str, dialect: Dialect) -> tuple[exp.Expr, Sequence[Token]]:
    """Return the tree and the tokens of one SELECT. Raises QueryRefused."""
    spend(2 * len(text))
    try:
        tokens = dialect.tokenize(text)
        statements = dialect.parser().parse(tokens, text)
    except (SqlglotError, RecursionError, ValueError) as error:
        raise QueryRefused("query.malformed", f"The query cannot be parsed: {_first_line(error)}") from None
    if len(statements) != 1:
        raise QueryRefused("query.not_allowed", f"The query has {len(statements)} statements instead of one.")
    if not isinstance(statements[0], exp.Select | exp.SetOperation):
        raise QueryRefused("query.not_allowed", "A query is one SELECT.")
    return statements[0], tokens


def why_refused(node: exp.Expr, refusals: Refusals) -> str | None:
    """Return why a part of a query is refused, None if it is not."""
    return next((why for kind, why in refusals if isinstance(node, kind)), None)


def _first_line(error: Exception) -> str:
    return str(error).splitlines()[0].rstrip(".") + "." if str(error) else "it is nested too deeply."
