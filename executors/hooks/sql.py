"""The `sql` hook, and the separate session in which the SQL of hooks runs."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import cast

from psycopg import errors, sql
from psycopg.errors import Diagnostic

from executors.errors import Terminal, Transient
from executors.hooks.base import HookCall, HookHandler
from executors.postgres.client import connect, interrupt, translate
from executors.postgres.ddl import Conn
from executors.postgres.failures import origin_of, own_words
from executors.postgres.queries import require_functions
from ir.hooks.base import BaseHook
from ir.hooks.sql import SqlHook
from ir.sql_guard import HookStatement, StatementRefused, read_hook_statement

TIME_LIMIT = "30min"
LONGEST_PLAN = 4000


def run_sql(call: HookCall) -> str:
    text = _statement(call.hook)
    statement = _require_allowed(text)
    with hook_session(call) as conn:
        if statement.setting:
            return _try_setting(conn, *statement.setting)
        if statement.explained is not None:
            require_functions(conn, statement.explained, call.connection, "The hook")
            return _plan(conn, text)
        return execute(conn, text, warnings_fail=statement.names_tables)


def _statement(hook: BaseHook) -> str:
    return cast(SqlHook, hook).statement


def _require_allowed(text: str) -> HookStatement:
    """Check the statement again right before it is sent, because it may have been saved before the guard existed."""
    try:
        return read_hook_statement(text)
    except StatementRefused as error:
        raise Terminal(error.code, error.message, hint="Change the hook and save the pipeline.") from error


@contextmanager
def hook_session(call: HookCall) -> Iterator[Conn]:
    """Open a session for one hook and close it afterwards, with all its settings. Its statements run one by one,
    outside of transactions, as VACUUM, CLUSTER and REINDEX CONCURRENTLY require. Names without schema refer to the
    target's schema."""
    name = f"flow hook {call.key}"
    with connect(call.connection, autocommit=True, application_name=name) as conn, translate(), _in_time(call):
        conn.execute(
            "SELECT set_config('search_path', %s, false), set_config('statement_timeout', %s, false),"
            " set_config('lock_timeout', %s, false)",
            [sql.Identifier(call.schema).as_string(conn), TIME_LIMIT, call.patience],
        )
        with call.interruption.by(lambda: interrupt(conn)):
            yield conn


@contextmanager
def _in_time(call: HookCall) -> Iterator[None]:
    try:
        yield
    except errors.QueryCanceled as error:
        raise Terminal(
            "hook.interrupted",
            f"The statement exceeded the limit of {TIME_LIMIT}.",
            hint="Run it at a time with less load, or outside Flow.",
        ) from error
    except errors.LockNotAvailable as error:
        raise Transient(
            "hook.locked",
            f"The statement could not get its locks within {call.patience}.",
            hint="While a hook before the swap runs, its load has a read lock on the old table. Statements that "
            "lock out readers, such as CLUSTER or REINDEX of that table, must run after the swap: remove `when`.",
        ) from error


def execute(conn: Conn, statement: str | sql.Composed, *, warnings_fail: bool = False) -> str:
    """Run one statement and return PostgreSQL's result as text. The server refuses a second statement in it."""
    warnings: list[str] = []
    conn.add_notice_handler(lambda notice: warnings.append(_words(notice)) if _is_warning(notice) else None)
    # Binary results make the driver use the extended protocol, which accepts only a single statement.
    with conn.cursor(binary=True) as cursor:
        cursor.execute(statement.encode() if isinstance(statement, str) else statement)
        done = cursor.statusmessage or ""
    if warnings and warnings_fail:
        raise Terminal(
            "hook.warned",
            f"PostgreSQL reported warnings, so the result may be incomplete: {' · '.join(warnings)}",
            hint="Let the table's owner, or a role with the right MAINTAIN, be the connection's user.",
        )
    return " · ".join([done, *warnings])


def _is_warning(notice: Diagnostic) -> bool:
    return notice.severity_nonlocalized == "WARNING"


def _words(notice: Diagnostic) -> str:
    return own_words(notice) or f"a warning {origin_of(notice)}"


def _plan(conn: Conn, text: str) -> str:
    """Return the plan of a statement. Planning may run functions that are declared immutable: the transaction is
    read-only and rolled back."""
    with conn.transaction(force_rollback=True):
        conn.execute("SET TRANSACTION READ ONLY")
        with conn.cursor() as cursor:
            lines = [str(row[0]) for row in cursor.execute(text.encode())]
    return "\n".join(lines)[:LONGEST_PLAN]


def _try_setting(conn: Conn, name: str, value: str) -> str:
    """Check that the server accepts the setting. The load's transaction sets it."""
    conn.execute("SELECT set_config(%s, %s, false)", [name, value])
    return f"{name} = {value} in the transaction of the load"


HANDLER = HookHandler("sql", _statement, run_sql)
