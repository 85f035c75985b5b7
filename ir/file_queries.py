"""The queries that sources may send to SQLite and DuckDB: one plain SELECT.

sqlglot's tree finds errors before a run. What a query can reach is decided by the database itself: it opens the file
for reading only, and its own settings close everything beside the file.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import lru_cache
from typing import Literal

from sqlglot import exp
from sqlglot.dialects.dialect import Dialect
from sqlglot.dialects.duckdb import DuckDB
from sqlglot.dialects.sqlite import SQLite
from sqlglot.errors import SqlglotError
from sqlglot.parsers.duckdb import DuckDBParser
from sqlglot.parsers.sqlite import SQLiteParser

from ir.budget import spend
from ir.diagnostics import Diagnostic, diagnose, shown
from ir.expressions.counting import Counting
from ir.pointers import Pointer
from ir.queries import MAX_BYTES, QueryRefused

Grammar = Literal["sqlite", "duckdb"]


class _SQLite(SQLite):
    class Parser(Counting, SQLiteParser):
        pass


class _DuckDB(DuckDB):
    class Parser(Counting, DuckDBParser):
        pass


_DIALECTS: Mapping[Grammar, type[Dialect]] = {"sqlite": _SQLite, "duckdb": _DuckDB}

_REFUSED: tuple[tuple[type[exp.Expr], str], ...] = (
    (exp.Parameter, "A query uses no variables."),
    (exp.Placeholder, "A query has no parameters."),
    (exp.DML, "A query changes nothing."),
    (exp.DDL, "A query changes nothing."),
    (exp.Command, "A query is one SELECT."),
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
    if "\0" in text or len(text.encode(errors="replace")) > MAX_BYTES:
        raise QueryRefused("query.malformed", f"A query has at most {MAX_BYTES:,} bytes and no NUL character.")
    text = text.strip().rstrip("; \r\n\t")
    for node in _parsed(text, grammar).walk():
        for kind, why in _REFUSED:
            if isinstance(node, kind):
                raise QueryRefused("query.not_allowed", why)
        if grammar == "sqlite" and _may_be_text(node, text):
            raise QueryRefused(
                "query.not_allowed",
                f"SQLite takes {shown(node.name)} in double quotes for a text if no column has this name. Write a "
                "column in square brackets, and a text in single quotes.",
            )
    return text


def _parsed(text: str, grammar: Grammar) -> exp.Expr:
    spend(2 * len(text))
    dialect = _DIALECTS[grammar]()
    try:
        statements = dialect.parser().parse(dialect.tokenize(text), text)
    except (SqlglotError, RecursionError, ValueError) as error:
        raise QueryRefused("query.malformed", f"The query cannot be parsed: {_first_line(error)}") from None
    if len(statements) != 1:
        raise QueryRefused("query.not_allowed", f"The query has {len(statements)} statements instead of one.")
    if not isinstance(statements[0], exp.Select | exp.SetOperation):
        raise QueryRefused("query.not_allowed", "A query is one SELECT.")
    return statements[0]


def _may_be_text(node: exp.Expr, text: str) -> bool:
    """Return whether a node is a column in double quotes without a table, which SQLite takes for a text if no such
    column exists, so that a misspelt name would fill every row."""
    if not isinstance(node, exp.Column) or node.table or not isinstance(node.this, exp.Identifier):
        return False
    start = node.this.meta.get("start")
    return bool(node.this.args.get("quoted")) and (start is None or text[start] == '"')


def _first_line(error: Exception) -> str:
    return str(error).splitlines()[0].rstrip(".") + "." if str(error) else "it is nested too deeply."
