"""The queries that sources may send to databases with an Arrow driver: one plain SELECT that changes nothing.

These systems have no transaction that only reads, except Oracle, and functions of users can do anything there. So a
query calls only functions that are listed for its system. It has no comments, because sqlglot and the system may read
them in different ways.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache, lru_cache
from pathlib import Path
from typing import Any

from sqlglot import exp
from sqlglot.dialects.dialect import Dialect
from sqlglot.parser import Parser
from sqlglot.tokenizer_core import Token, TokenType

from ir.diagnostics import Diagnostic, diagnose, shown
from ir.foreign_queries import CHANGES, Refusals, parse_select, why_refused, without_end
from ir.pointers import Pointer
from ir.queries import QueryRefused
from ir.spelling import guess

_REFUSED: Refusals = (
    (exp.Lock, "A query locks no rows: leave out FOR UPDATE."),
    (exp.Into, "A query writes no table: leave out INTO."),
    (exp.Parameter, "A query uses no variables, stages and positions of columns."),
    (exp.SessionParameter, "A query uses no variables."),
    (exp.Placeholder, "A query has no parameters."),
    (exp.Hint, "A query has no hints."),
    (exp.NextValueFor, "A query takes no number of a sequence."),
    *CHANGES,
)
_OF_SEQUENCES = frozenset({"nextval", "currval"})
_STANDARD = (
    "array case cast ceil char chr convert date_part datepart decode extract floor if initcap json_array json_arrayagg "
    "json_exists json_object json_objectagg json_value listagg normalize object_construct_keep_null overlay position "
    "safe_cast string_agg substr substring to_number translate trim try_cast try_convert"
)
"""Functions with a syntax of their own, which only compute a value in every system that has them."""


@dataclass(frozen=True, slots=True)
class ArrowGrammar:
    """The grammar of a system. `functions` is the file beside this one with the functions that queries may call;
    `refused` are parts of the grammar that this system's queries must not have."""

    title: str
    dialect: type[Dialect]
    functions: Path
    refused: Refusals = ()


def standard_functions(parser: type[Parser]) -> dict[str, Callable[..., Any]]:
    """Return sqlglot's parsers of functions that only compute a value, from those of a system."""
    wanted = set(_STANDARD.split())
    return {name: parse for name, parse in parser.FUNCTION_PARSERS.items() if name.lower() in wanted}


def check_query(text: str, grammar: ArrowGrammar, at: Pointer) -> Iterator[Diagnostic]:
    """Check that the query may run."""
    try:
        read_query(text, grammar)
    except QueryRefused as refused:
        yield diagnose(refused.code, at, refused.message)


@lru_cache(maxsize=64)
def read_query(text: str, grammar: ArrowGrammar) -> str:
    """Return the text of one SELECT, without a semicolon at its end. Raises QueryRefused."""
    text = without_end(text)
    tree, tokens = parse_select(text, grammar.dialect())
    if why := _why_tokens_refused(tokens):
        raise QueryRefused("query.not_allowed", why)
    for node in tree.walk():
        if why := _why_refused(node, grammar):
            raise QueryRefused("query.not_allowed", why)
    return text


def _why_tokens_refused(tokens: Sequence[Token]) -> str | None:
    if any(token.comments for token in tokens):
        return "A query has no comments."
    if any(token.token_type is TokenType.PARAMETER for token in tokens):
        return "A query uses no variables and stages."
    return None


def _why_refused(node: exp.Expr, grammar: ArrowGrammar) -> str | None:
    if why := why_refused(node, (*_REFUSED, *grammar.refused)):
        return why
    if isinstance(node, exp.Table) and not isinstance(node.this, exp.Identifier | exp.Func):
        return "A query reads tables and views."
    if isinstance(node, exp.Identifier) and not node.quoted and "@" in node.name:
        return "A query reads no other database over a link."
    if isinstance(node, exp.Column) and node.table and node.name.lower() in _OF_SEQUENCES:
        return "A query takes no number of a sequence."
    if isinstance(node, exp.Dot) and isinstance(node.expression, exp.Func):
        return "A query calls no functions of users and packages."
    if isinstance(node, exp.Anonymous) and (name := node.name.lower()) not in (known := _functions(grammar.functions)):
        near = guess(name, known)
        return f"The function {shown(name)} is not allowed." + (f" Did you mean {near}?" if near else "")
    return None


@cache
def _functions(file: Path) -> frozenset[str]:
    """Return the functions without side effects that queries may call."""
    return frozenset(file.read_text().split())
