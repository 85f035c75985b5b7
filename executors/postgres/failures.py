"""Maps each SQLSTATE (or its class) to a failure. Messages contain names, never row values."""

from __future__ import annotations

import re
from contextlib import suppress
from dataclasses import dataclass

import psycopg
from psycopg.errors import Diagnostic

from executors.errors import Failure, InvalidContent, Terminal, Transient
from executors.secrets import encrypt_text


@dataclass(frozen=True, slots=True)
class _State:
    """The failure for an SQLSTATE. `reports_primary` means that the server's first line contains only names of objects,
    so it may be shown."""

    kind: type[Failure]
    code: str
    says: str
    hint: str = ""
    reports_primary: bool = False


_LOST = _State(
    Transient,
    "target.lost",
    "The connection to the database was lost.",
    "The server restarted or the network failed. Uncommitted changes are rolled back. Try again.",
)

_STATES: dict[str, _State] = {
    "08": _LOST,
    "57P01": _LOST,
    "57P02": _LOST,
    "57P03": _LOST,
    "57P05": _LOST,
    "25P03": _LOST,
    "57014": _State(Transient, "target.cancelled", "The statement was cancelled.", "Run it again."),
    "55P03": _State(
        Transient,
        "target.lock_timeout",
        "Could not get a lock in time. Another session holds the table.",
        "Check pg_stat_activity for the session, and try again.",
    ),
    "40P01": _State(
        Transient, "target.deadlock", "The database ended this transaction to resolve a deadlock.", "Try again."
    ),
    "40": _State(
        Transient, "target.serialization", "Another transaction changed the same rows at the same time.", "Try again."
    ),
    "53": _State(
        Transient,
        "target.out_of_resources",
        "The database server has too little memory, disk space or connections.",
        "Free resources and try again.",
        reports_primary=True,
    ),
    "22P05": _State(
        Terminal,
        "target.character_unusable",
        "A name or text contains a character that the database's encoding does not have.",
        "Remove it from the pipeline's names, rules and queries, or use a UTF8 database.",
    ),
    "22": _State(
        InvalidContent,
        "target.value_refused",
        "The database rejected a value of a row.",
        "Set onTypeMismatch to skip or null, or correct the source.",
    ),
    "21000": _State(
        Terminal,
        "target.key_repeated",
        "Two rows of the load have the same key in the table.",
        "A trigger changes the key, or its type rounds it. Make the key unique at the source, in the form in which the "
        "table stores it.",
    ),
    "25006": _State(
        Terminal,
        "target.read_only",
        "The database is read-only: a standby, or configured as read-only.",
        "Connect to the primary server.",
    ),
    "P0001": _State(
        Terminal,
        "target.function_failed",
        "A function in the database raised an exception.",
        "Check the function, which a trigger, a view or a generated column may call. Its text may contain row values "
        "and is shown to editors and admins.",
    ),
    "0A": _State(
        Terminal,
        "target.statement_refused",
        "The table does not allow what this load mode does.",
        "Use another load mode, or remove the obstacle.",
        reports_primary=True,
    ),
    "54011": _State(
        Terminal,
        "target.too_many_columns",
        "A table of PostgreSQL has at most 1,600 columns, and staging needs three of them.",
        "Drop columns in a transform, or load several tables.",
    ),
    "54": _State(
        Terminal,
        "target.limit_exceeded",
        "A limit of the database server was exceeded.",
        "Correct the source. With onTypeMismatch skip, rows that are too large for an index go to quarantine.",
        reports_primary=True,
    ),
    "55": _State(
        Terminal,
        "target.statement_refused",
        "The table cannot be loaded in its current state.",
        "See the message.",
        reports_primary=True,
    ),
    "3F": _State(Terminal, "target.schema_unknown", "A schema does not exist.", "Create it.", reports_primary=True),
    "42P01": _State(
        Terminal,
        "target.table_unknown",
        "A table does not exist.",
        "It may have been dropped or renamed during the run.",
        reports_primary=True,
    ),
    "42": _State(
        Terminal,
        "target.statement_refused",
        "The database rejected a statement.",
        "The table may have been changed during the run.",
        reports_primary=True,
    ),
}

_OTHER = _State(
    Terminal, "target.failed", "The database rejected a statement.", "The server's log has the details of this state."
)

_GRANTS = {
    "table": "GRANT SELECT, INSERT, UPDATE, DELETE, TRUNCATE ON {name} TO the connection's user",
    "schema": "GRANT USAGE, CREATE ON SCHEMA {name} TO the connection's user",
    "database": "GRANT CREATE, TEMPORARY ON DATABASE {name} TO the connection's user",
    "sequence": "GRANT USAGE ON SEQUENCE {name} TO the connection's user",
    "function": "GRANT EXECUTE ON FUNCTION {name} TO the connection's user",
}


FUNCTION_IN_CONTEXT = r'^[\w/]+ function ([^)\n]+\)|"[^"\n]+")'
"""The pattern of a function in an error's context: PL/pgSQL functions by signature, functions in other languages by
quoted name.

Both Python and PostgreSQL use this pattern."""
_FUNCTION = re.compile(FUNCTION_IN_CONTEXT, re.MULTILINE)
_NO_FUNCTION = ("COPY ", "parallel worker")
"""The context of an error starts like this if the server itself raised it."""
LONGEST_DETAIL = 2000


def failure_of(error: psycopg.Error) -> Failure:
    """Return the failure for a driver error raised by a statement or a commit."""
    failure = _failure_of(error)
    diag = error.diag
    words = "\n".join(text for text in (diag.message_primary, diag.message_detail) if text)
    if words and (diag.message_primary or "") not in failure.message:
        # Without encryption keys, no one could read the text either.
        with suppress(Terminal):
            failure.encrypted_detail = encrypt_text(words[:LONGEST_DETAIL])
    return failure


def _failure_of(error: psycopg.Error) -> Failure:
    state = error.sqlstate
    if state is None:
        return _stateless(error)
    if state.startswith("23"):
        return _constraint(error)
    if state == "42501":
        return _forbidden(error)
    return _from_table(error, state)


def _stateless(error: psycopg.Error) -> Failure:
    """Return the failure for an error without SQLSTATE: the connection was lost, or the driver itself raised it (a bug
    of Flow; its text contains no row values)."""
    if isinstance(error, psycopg.OperationalError):
        return Transient(_LOST.code, _LOST.says, hint=_LOST.hint)
    return Terminal("target.driver_failed", f"The database driver failed: {type(error).__name__}.", hint=_OTHER.hint)


def _from_table(error: psycopg.Error, state: str) -> Failure:
    known = _STATES.get(state) or _STATES.get(state[:2]) or _OTHER
    if known.kind is Terminal and _FUNCTION.search(error.diag.context or ""):
        known = _STATES["P0001"]  # a state raised within a function may be about another table
    if known.reports_primary and (primary := own_words(error.diag)):
        return known.kind(known.code, f"{known.says} {primary}.", hint=known.hint)
    return known.kind(known.code, f"{known.says} ({_where(error)})", hint=known.hint)


def own_words(diag: Diagnostic) -> str:
    """Return the server's first line. Return "" if a function raised it, because functions may put row values into any
    text."""
    context = diag.context or ""
    return "" if context and not context.startswith(_NO_FUNCTION) else diag.message_primary or ""


def origin_of(diag: Diagnostic) -> str:
    """Return the function that raised an error or a warning, if there is one, and the state."""
    function = _FUNCTION.search(diag.context or "")
    return f"in function {function[1]}, SQLSTATE {diag.sqlstate}" if function else f"SQLSTATE {diag.sqlstate}"


def _where(error: psycopg.Error) -> str:
    return f"{origin_of(error.diag)}, {type(error).__name__}"


def _constraint(error: psycopg.Error) -> Failure:
    diag = error.diag
    table = f"{diag.schema_name}.{diag.table_name}" if diag.table_name else "the target"
    if error.sqlstate == "23514" and diag.constraint_name is None:
        message = f"{table} rejected a row: it fits no partition."
        return InvalidContent(
            "target.constraint",
            message,
            hint="Add a partition for it, or set onTypeMismatch to skip to reject such rows.",
        )
    what = f"constraint {diag.constraint_name!r}" if diag.constraint_name else type(error).__name__
    column = f", column {diag.column_name!r}" if diag.column_name else ""
    return InvalidContent(
        "target.constraint",
        f"{table} rejected a row: {what}{column}.",
        hint="Correct the source. With onTypeMismatch skip such rows go to quarantine, unless they break a foreign key "
        "to the table itself or a deferred constraint, or repeat a key of an upsert that is not its own.",
    )


def _forbidden(error: psycopg.Error) -> Failure:
    primary = own_words(error.diag)
    if not primary:
        text = f"A function in the database lacks a privilege, or raised this error itself. ({_where(error)})"
        hint = "GRANT what the function needs. Its message may contain row values and is shown to editors and admins."
        return Terminal("target.forbidden", text, hint=hint)
    if "row-level security" in primary:
        hint = "A policy of the table forbids this. Change the policy, or load with a role to which it does not apply."
        return Terminal("target.forbidden", f"The connection's user does not have permission: {primary}.", hint=hint)
    match = re.search(r"permission denied for (?:relation )?(\w+)(?: (.+))?$", primary)
    grant = _GRANTS.get(match[1]) if match else None
    hint = (
        grant.format(name=match[2] or "it") + "." if grant and match else "GRANT the connection's user what it needs."
    )
    return Terminal("target.forbidden", f"The connection's user does not have permission: {primary}.", hint=hint)
