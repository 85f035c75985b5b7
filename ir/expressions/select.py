"""Queries of the op sql: `SELECT items FROM input WHERE condition`, split into expressions.

A query consists only of its expressions, each of which is checked like any other expression. Its text never runs as a
query, so it cannot access tables, files or other functions.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache

from sqlglot.errors import SqlglotError
from sqlglot.tokenizer_core import Token, TokenType

from ir.budget import spend
from ir.diagnostics import shown
from ir.expressions import Expression, ExpressionError, parse_expression
from ir.expressions.dialect import Dialect

INPUT = "input"
_HINT = "Write SELECT, columns and expressions, FROM input, and a WHERE if needed."
_OPENING = (TokenType.L_PAREN, TokenType.L_BRACKET, TokenType.L_BRACE, TokenType.CASE)
_CLOSING = (TokenType.R_PAREN, TokenType.R_BRACKET, TokenType.R_BRACE, TokenType.END)
_INSTEAD = {
    "JOIN": "Use the op join, which keeps one row for each.",
    "GROUP": "Rows cannot be grouped here: each row stays one row.",
    "HAVING": "Rows cannot be grouped here: each row stays one row.",
    "UNION": "A query reads from input alone.",
    "WITH": "Use an op before this one in place of a common table expression.",
    "ORDER": "Rows of a table have no order.",
    "LIMIT": "Use a condition in WHERE.",
    "DISTINCT": "Use the op deduplicate, which defines which row is loaded.",
    "LATERAL": "Each input row gives one row.",
}
"""What to do instead of clauses that queries do not have."""


@dataclass(frozen=True, slots=True)
class Item:
    """A column of the result: its name, and its expression. `column` is the name of the input column if the expression
    is only that column."""

    name: str
    text: str
    column: str | None = None


@dataclass(frozen=True, slots=True)
class Query:
    """`has_all` means that the items begin with `*`: all columns of the input."""

    items: tuple[Item, ...]
    where: str | None
    has_all: bool

    def expressions(self) -> Iterator[Expression]:
        """Yield the items and the condition."""
        for text in (*(item.text for item in self.items), *([self.where] if self.where else [])):
            yield parse_expression(text)


@lru_cache(maxsize=256)
def _parsed(text: str) -> Query | ExpressionError:
    try:
        query = _parse(text)
        list(query.expressions())
    except ExpressionError as error:
        return error
    except SqlglotError as error:
        return _malformed(f"it cannot be read: {str(error).lower()}")
    return query


def parse_query(text: str) -> Query:
    """Split a query into expressions. Raises ExpressionError for an invalid query, and for its first expression that is
    not allowed."""
    found = _parsed(text)
    if isinstance(found, ExpressionError):
        raise found.with_traceback(None)
    return found


def _malformed(why: str, hint: str = _HINT) -> ExpressionError:
    return ExpressionError("sql.malformed", f"The query is not valid: {why}.", hint=hint)


def _parse(text: str) -> Query:
    tokens = Dialect().tokenize(text)
    spend(5 * len(tokens))
    if tokens and tokens[-1].token_type == TokenType.SEMICOLON:
        tokens = tokens[:-1]
    if any(token.comments for token in tokens):
        raise _malformed("comments are not allowed", "Use the node's description.")
    if not tokens or tokens[0].text.upper() != "SELECT":
        first = tokens[0].text.upper() if tokens else ""
        raise _malformed("it does not begin with SELECT", _INSTEAD.get(first, _HINT))
    at = _from(tokens)
    for token in tokens[1:2]:
        if token.text.upper() == "DISTINCT":
            raise _malformed("DISTINCT is not allowed", _INSTEAD["DISTINCT"])
    items = [_item(part, text) for part in _split(tokens[1:at])]
    has_all = bool(items) and items[0] is None
    named = [item for item in items[has_all:] if item is not None]
    if len(named) != len(items) - has_all:
        raise _malformed("* can only be the first of its columns")
    names = [item.name for item in named]
    for name in names:
        if names.count(name) > 1:
            raise _malformed(f"two columns are named {shown(name)}", "Give one of them another name with AS.")
    rest = tokens[at + 2 :]
    return Query(tuple(named), _text(rest[1:], text) if rest else None, has_all)


def _from(tokens: Sequence[Token]) -> int:
    """Return the position of FROM. The same word is part of `a IS DISTINCT FROM b`."""
    for i, token in _outside(tokens):
        after = tokens[i + 1 : i + 3]
        if token.token_type == TokenType.FROM and after and after[0].text.lower() == INPUT:
            if len(after) == 1 or (after[1].token_type == TokenType.WHERE and len(tokens) > i + 3):
                return i
            if tokens[i - 1].token_type != TokenType.DISTINCT:
                word = after[1].text.upper().partition(" ")[0]
                raise _malformed(f"{word} is not expected after FROM input", _INSTEAD.get(word, _HINT))
    raise _malformed(f"FROM {INPUT} is missing", f"A query reads from {INPUT}, the rows that arrive, and nothing else.")


def _outside(tokens: Sequence[Token]) -> Iterator[tuple[int, Token]]:
    """Yield the tokens outside parentheses, each with its position."""
    depth = 0
    for i, token in enumerate(tokens):
        depth -= token.token_type in _CLOSING
        if depth == 0 and token.token_type not in _CLOSING:
            yield i, token
        depth += token.token_type in _OPENING


def _split(tokens: Sequence[Token]) -> Iterator[Sequence[Token]]:
    commas = [i for i, token in _outside(tokens) if token.token_type == TokenType.COMMA]
    for start, end in zip([-1, *commas], [*commas, len(tokens)], strict=True):
        yield tokens[start + 1 : end]


def _item(tokens: Sequence[Token], text: str) -> Item | None:
    """Return a column of the result; None for `*`."""
    if not tokens:
        raise _malformed("a column is missing")
    if len(tokens) == 1 and tokens[0].token_type == TokenType.STAR:
        return None
    is_named = len(tokens) > 2 and tokens[-2].token_type == TokenType.ALIAS
    written = _text(tokens[:-2] if is_named else tokens, text)
    columns = parse_expression(written).columns
    is_column = len(tokens[:-2] if is_named else tokens) == 1 and len(columns) == 1
    if not is_named and not is_column:
        raise _malformed(f"{shown(written)} has no name", "Name each expression with AS, as in upper(name) AS name.")
    name = tokens[-1].text if is_named else columns[0]
    return Item(name, written, columns[0] if is_column else None)


def _text(tokens: Sequence[Token], text: str) -> str:
    return text[tokens[0].start : tokens[-1].end + 1]
