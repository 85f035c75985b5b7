"""Spark SQL expressions: parsed, checked node by node against an allow-list, and generated from the checked tree.

Only the generated text ever runs. It differs from the written text: every operation is in parentheses, every column in
backticks, and every literal is escaped again, so that Spark reads exactly the tree that was checked. Functions are
allowed by name. sqlglot's rewriting of functions is disabled, because it would change their meaning.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache

from sqlglot import exp
from sqlglot.errors import ParseError, SqlglotError
from sqlglot.tokenizer_core import Token, TokenType

from ir.budget import spend
from ir.diagnostics import shown
from ir.expressions.dialect import Dialect
from ir.expressions.errors import ExpressionError, malformed, refused
from ir.expressions.literals import decode_literal
from ir.expressions.writer import Writer

MAX_LENGTH = 10_000
MAX_TOKENS = 2_000
MAX_NESTING = 30
_PLAIN = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
"""Names that need no backticks, unless they are keywords of SQL."""

_PARSER_FAULTS = (AttributeError, IndexError, KeyError, TypeError, ValueError)
"""The errors that sqlglot raises for unexpected texts, such as `date[(1)]`."""


@dataclass(frozen=True, slots=True)
class Expression:
    """A checked expression: the text to run and the columns that it reads, in the order of first use."""

    sql: str
    columns: tuple[str, ...]


def parse_expression(text: str) -> Expression:
    """Check an expression; raises ExpressionError (`expression.malformed`, `.not_allowed` or `.ambiguous`)."""
    try:
        checked = _check(text)
    except RecursionError as error:
        raise refused("The expression is nested too deeply") from error
    if isinstance(checked, ExpressionError):
        raise checked.with_traceback(None)
    return checked


@lru_cache(maxsize=1024)
def _check(text: str) -> Expression | ExpressionError:
    """Cached, including refusals, because an expression is checked and then searched for its columns."""
    try:
        return _checked(text)
    except ExpressionError as error:
        return error


def _checked(text: str) -> Expression:
    if len(text) > MAX_LENGTH:
        raise refused(f"The expression is longer than {MAX_LENGTH} characters")
    try:
        writer = Writer()
        return Expression(writer.write(_parse(text)), tuple(writer.columns))
    except ParseError as error:
        raise malformed(text, error.errors[0]["description"].split(" for <")[0].lower()) from error
    except SqlglotError as error:
        raise malformed(text, str(error).lower()) from error
    except _PARSER_FAULTS as error:
        raise malformed(text, "the parser cannot read it") from error


def bind_expression(text: str, names: Mapping[str, str]) -> str:
    """Return the generated text with the engine's names of the columns. Raises ExpressionError."""
    return Writer(names).write(_parse(text))


def rename_column(text: str, name: str, other: str) -> str | None:
    """Return the expression as written, with another column; None if the column cannot be replaced reliably."""
    tokens = Dialect().tokenize(text)
    written, end = "", 0
    for before, token, after in zip([None, *tokens], tokens, [*tokens[1:], None], strict=False):
        named = token.text == name and token.token_type in (TokenType.VAR, TokenType.IDENTIFIER)
        is_field = before is not None and before.token_type == TokenType.DOT
        is_function = after is not None and after.token_type == TokenType.L_PAREN
        if named and not is_field and not is_function:
            written += text[end : token.start] + (other if _PLAIN.fullmatch(other) else f"`{other.replace('`', '``')}`")
            end = token.end + 1
    written += text[end:]
    try:
        columns = parse_expression(written).columns
    except ExpressionError:
        return None
    meant = dict.fromkeys(other if column == name else column for column in parse_expression(text).columns)
    return written if columns == tuple(meant) else None


def parse_written(sql: str) -> exp.Expr:
    """Parse a text that was checked and written by this package; columns may have names of the engine."""
    return _parse(sql)


def _parse(text: str) -> exp.Expr:
    dialect = Dialect()
    tokens = dialect.tokenize(text)
    spend(5 * len(tokens))
    if len(tokens) > MAX_TOKENS:
        raise refused(f"The expression has more than {MAX_TOKENS} words and signs")
    _check_nesting(tokens)
    for token in tokens:
        written = text[token.start : token.end + 1]
        if token.comments:
            raise refused("Comments are not allowed in an expression", hint="Use the node's description.")
        if token.token_type == TokenType.STRING:
            _check_literal(written, token.text)
        if token.token_type == TokenType.NUMBER and written[-1].isalpha():
            raise refused(f"The number {written} has a suffix", hint="Write for example CAST(1 AS BIGINT).")
    trees = dialect.parser().parse_into(exp.Condition, tokens, text)
    if len(trees) != 1 or trees[0] is None:
        raise malformed(text, f"there are {len(list(filter(None, trees)))} expressions")
    return trees[0]


_OPENING = (TokenType.L_PAREN, TokenType.L_BRACKET, TokenType.L_BRACE, TokenType.CASE)
_CLOSING = (TokenType.R_PAREN, TokenType.R_BRACKET, TokenType.R_BRACE, TokenType.END)


def _check_nesting(tokens: list[Token]) -> None:
    """Check the nesting before the parser runs, which recurses about thirty times for each level."""
    depth = 0
    for token in tokens:
        depth += (token.token_type in _OPENING) - (token.token_type in _CLOSING)
        if depth > MAX_NESTING:
            raise refused(f"The expression is nested more than {MAX_NESTING} levels deep")


def _check_literal(written: str, understood: str) -> None:
    """Check that Spark reads the literal like the parser."""
    try:
        meant = decode_literal(written)
    except ValueError as error:
        raise refused(str(error), hint="Double every backslash.") from error
    if meant != understood:
        raise refused(f"The text literal {shown(written)} can be read in two ways")


__all__ = ["Expression", "ExpressionError", "bind_expression", "parse_expression", "parse_written", "rename_column"]
