"""`customSql` fails if the author's query returns any row. The rows are counted, never shown.

The guard checks the query again. Then it runs in a separate session: read-only, without a search path, with a time
limit, and closed afterwards.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from typing import Any

import psycopg
from psycopg import errors, sql

from executors.checks.base import CheckHandler, Outcome
from executors.errors import Terminal
from executors.model import StageColumn
from executors.postgres.checks.base import Staged, as_type
from executors.postgres.failures import origin_of, own_words
from executors.postgres.queries import require_allowed
from ir.checks import CustomSql
from ir.checks.custom_sql import STAGED
from ir.queries import Query, QueryRefused, read_query
from ir.words import counted

MOST_SECONDS = 300
_RAISED = (errors.RaiseException, errors.PlpgsqlError, errors.AssertFailure, errors.NoDataFound, errors.TooManyRows)
"""Errors that functions raise, from the class of statements that cannot run."""
_OF_DATA = (errors.DataError, *_RAISED)


def run(staged: Staged, check: CustomSql) -> Outcome:
    query = _allowed(check)
    try:
        counting = _counting(query, sql.SQL("SELECT {} FROM {}").format(_columns(staged), staged.rows))
        rows = int(_ask(staged, query, counting))
    except _OF_DATA as error:
        # Messages of the server, and of a function that raises, may contain a value.
        return Outcome(
            f"the query failed with an error of the class {type(error).__name__} (SQLSTATE {error.sqlstate})"
        )
    detail = f": {check.message}" if check.message else ""
    return Outcome(f"the query returned {counted(rows, 'row')}{detail}" if rows else None, rows)


def probe(staged: Staged, check: CustomSql) -> None:
    """Check that the database knows all names in the query. The query is planned, not run."""
    query = _allowed(check)
    counting = _counting(query, sql.SQL("SELECT {} WHERE false").format(_no_columns(staged)))
    # A constant such as 1 / 0 already fails in planning. The check reports it later.
    with suppress(*_OF_DATA):
        _ask(staged, query, sql.SQL("EXPLAIN {}").format(counting))


def _allowed(check: CustomSql) -> Query:
    """Check the query again, because it may have been saved before the guard existed."""
    try:
        return read_query(check.query, (STAGED,))
    except QueryRefused as refused:
        raise Terminal(refused.code, refused.message, hint="Change the check and save the pipeline.") from None


def _counting(query: Query, rows: sql.Composed) -> sql.Composed:
    # The line break ends a comment at the end of the query.
    return sql.SQL("WITH {} AS ({}) SELECT count(*) FROM ({}\n) AS q").format(
        sql.Identifier(STAGED), rows, sql.SQL(query.text)
    )


def _ask(staged: Staged, query: Query, statement: sql.Composed) -> Any:
    """Return the first value of the result of a statement that contains the query."""
    try:
        with staged.open_session() as conn:
            require_allowed(conn, query, staged.connection, "customSql")
            row = conn.execute(statement).fetchone()
    except errors.QueryCanceled as error:
        raise _failed(f"it exceeded the limit of {MOST_SECONDS} s") from error
    except _RAISED:
        raise
    except psycopg.ProgrammingError as error:
        # Messages of this class contain only names from the query.
        raise _failed(own_words(error.diag) or f"it fails {origin_of(error.diag)}") from error
    return row[0] if row else 0


def _columns(staged: Staged) -> sql.Composed:
    """Return the columns of the staged rows in the types of the table."""
    return _named(staged, lambda column: sql.Identifier("s", column.name))


def _no_columns(staged: Staged) -> sql.Composed:
    """Return the same columns before any rows are staged."""
    return _named(staged, lambda column: sql.NULL)


def _named(staged: Staged, value: Callable[[StageColumn], sql.Composable]) -> sql.Composed:
    return sql.SQL(", ").join(
        sql.SQL("{} AS {}").format(as_type(value(column), loaded.base), sql.Identifier(column.name))
        for column in staged.columns
        if (loaded := staged.dest.column(column.name)) is not None
    )


def _failed(why: str) -> Terminal:
    return Terminal("check.query_failed", f"customSql cannot run: {why}.", hint="Correct the query.")


HANDLER = CheckHandler(CustomSql.kind, run, probe)
