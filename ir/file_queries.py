"""The queries that sources may send to SQLite and DuckDB: one plain SELECT.

sqlglot's tree finds errors before a run. What a query can reach is decided by the database itself: it opens the file
for reading only, and its own settings close everything beside the file.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from functools import lru_cache
from typing import Literal

from sqlglot import exp
from sqlglot.dialects.dialect import Dialect
from sqlglot.dialects.duckdb import DuckDB
from sqlglot.dialects.sqlite import SQLite
from sqlglot.parsers.duckdb import DuckDBParser
from sqlglot.parsers.sqlite import SQLiteParser

from ir.diagnostics import Diagnostic, diagnose, shown
from ir.expressions.counting import Counting
from ir.foreign_queries import CHANGES, Refusals, parse_select, why_refused, without_end
from ir.pointers import Pointer
from ir.queries import QueryRefused

Grammar = Literal["sqlite", "duckdb"]


class _SQLite(SQLite):
    class Parser(Counting, SQLiteParser):
        pass


class _DuckDB(DuckDB):
    class Parser(Counting, DuckDBParser):
        pass


_DIALECTS: Mapping[Grammar, type[Dialect]] = {"sqlite": _SQLite, "duckdb": _DuckDB}

_WIDE = re.compile(r"\*|[0-9]{5}")
"""Of a format: a width that is a value, or one of many digits."""

_REFUSED: Refusals = (
    (exp.Parameter, "A query uses no variables."),
    (exp.Placeholder, "A query has no parameters."),
    *CHANGES,
)


def check_query(text: str, grammar: Grammar, at: Pointer) -> Iterator[Diagnostic]:
    """Check that the query may run."""
    try:
        read_query(text, grammar)
    except QueryRefused as refused:
        yield diagnose(refused.code, at, refused.message)


@lru_cache(maxsize=64)
def read_query(text: str, grammar: Grammar) -> str:
    """Return the text of one SELECT, without a semicolon at its end. Raises QueryRefused."""
    text = without_end(text)
    tree, _ = parse_select(text, _DIALECTS[grammar]())
    for node in tree.walk():
        if why := why_refused(node, _REFUSED):
            raise QueryRefused("query.not_allowed", why)
        if grammar == "sqlite" and _may_format_null(node):
            raise QueryRefused(
                "query.not_allowed",
                "SQLite returns NULL for a text that printf() or format() cannot build. The format must be a literal, "
                "without * and with at most four digits for a width.",
            )
        if grammar == "sqlite" and _may_be_text(node, text):
            raise QueryRefused(
                "query.not_allowed",
                f"SQLite takes {shown(node.name)} in double quotes for a text if no column has this name. Write a "
                "column in square brackets, and a text in single quotes.",
            )
    return text


def _may_format_null(node: exp.Expr) -> bool:
    """Return whether a node formats values to a width that is not known, or too large for memory."""
    if isinstance(node, exp.Format):
        given = node.this
    elif isinstance(node, exp.Anonymous) and node.name.lower() in ("printf", "format"):
        given = next(iter(node.expressions), None)
    else:
        return False
    return not (isinstance(given, exp.Literal) and given.is_string) or bool(_WIDE.search(given.name))


def _may_be_text(node: exp.Expr, text: str) -> bool:
    """Return whether a node is a column in double quotes without a table, which SQLite takes for a text if no such
    column exists, so that a misspelt name would fill every row."""
    if not isinstance(node, exp.Column) or node.table or not isinstance(node.this, exp.Identifier):
        return False
    start = node.this.meta.get("start")
    return bool(node.this.args.get("quoted")) and (start is None or text[start] == '"')
