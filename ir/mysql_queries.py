"""The queries that sources may send to MySQL and MariaDB: one plain SELECT that changes nothing.

sqlglot's tree decides; the text itself is sent, as a subquery, because regenerated text could mean something else. So
whatever the server may read in another way than sqlglot is refused: comments, of which MySQL executes some, and names
in the server's own schemas.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache, lru_cache
from pathlib import Path
from typing import Any, ClassVar

from sqlglot import exp
from sqlglot.dialects.mysql import MySQL
from sqlglot.parsers.mysql import MySQLParser

from ir.diagnostics import Diagnostic, diagnose, shown
from ir.expressions.counting import Counting
from ir.foreign_queries import CHANGES, Refusals, parse_select, why_refused, without_end
from ir.pointers import Pointer
from ir.queries import QueryRefused
from ir.spelling import guess

SYSTEM_SCHEMAS = frozenset({"mysql", "performance_schema", "sys"})

_REFUSED: Refusals = (
    (exp.Lock, "A query locks no rows: leave out FOR UPDATE and LOCK IN SHARE MODE."),
    (exp.Into, "A query writes no file and no variable: leave out INTO."),
    (exp.Parameter, "A query uses no variables."),
    (exp.SessionParameter, "A query uses no variables."),
    (exp.PropertyEQ, "A query assigns no variables."),
    (exp.Placeholder, "A query has no parameters."),
    *CHANGES,
)


class _Dialect(MySQL):
    """MySQL's dialect without sqlglot's rewriting of functions: calls stay as written."""

    class Parser(Counting, MySQLParser):
        FUNCTIONS: ClassVar[dict[str, Any]] = {}


def check_query(text: str, at: Pointer) -> Iterator[Diagnostic]:
    """Check that the query may run."""
    try:
        read_query(text)
    except QueryRefused as refused:
        yield diagnose(refused.code, at, refused.message)


@lru_cache(maxsize=64)
def read_query(text: str) -> str:
    """Return the text of one SELECT, without a semicolon at its end. Raises QueryRefused."""
    text = without_end(text)
    tree, tokens = parse_select(text, _Dialect())
    if any(token.comments for token in tokens):
        raise QueryRefused("query.not_allowed", "A query has no comments, because MySQL executes some of them.")
    for node in tree.walk():
        if why := _why_refused(node):
            raise QueryRefused("query.not_allowed", why)
    return text


def _why_refused(node: exp.Expr) -> str | None:
    if why := why_refused(node, _REFUSED):
        return why
    if isinstance(node, exp.Table) and node.db.lower() in SYSTEM_SCHEMAS:
        return f"The schema {shown(node.db)} belongs to the server."
    if isinstance(node, exp.Dot):
        return "A query calls no stored functions."
    if isinstance(node, exp.Anonymous) and (name := node.name.lower()) not in _functions():
        near = guess(name, _functions())
        return f"The function {shown(name)} is not allowed." + (f" Did you mean {near}?" if near else "")
    return None


@cache
def _functions() -> frozenset[str]:
    """Return the functions without side effects that queries may call."""
    return frozenset((Path(__file__).parent / "mysql_functions.txt").read_text().split())
