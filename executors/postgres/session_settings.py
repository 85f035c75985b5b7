"""Settings for every session on a user's database, so that settings of a role or database change no result and end no
session. A test compares them with all settings of the server."""

from __future__ import annotations

from collections.abc import Mapping

import psycopg
from psycopg.rows import TupleRow

from executors.errors import Terminal

PINNED = {
    # Nothing is found by search path: all names in Flow's statements are qualified.
    "search_path": "",
    "timezone": "UTC",
    "timezone_abbreviations": "Default",
    "datestyle": "ISO, YMD",
    "intervalstyle": "postgres",
    "extra_float_digits": "1",
    "bytea_output": "hex",
    "lc_monetary": "C",
    "client_encoding": "UTF8",
    "array_nulls": "on",
    "xmloption": "content",
    "xmlbinary": "base64",
    "standard_conforming_strings": "on",
    "backslash_quote": "safe_encoding",
    "transform_null_equals": "off",
    "quote_all_identifiers": "off",
    "gin_fuzzy_search_limit": "0",
    "row_security": "on",
    "restrict_nonsystem_relation_kind": "",
    "lock_timeout": "30s",
    # A role's own limits must not end a long load. The engine enforces the time limit of a run.
    "statement_timeout": "0",
    "transaction_timeout": "0",
    "idle_session_timeout": "0",
    "idle_in_transaction_session_timeout": "0",
    "tcp_user_timeout": "0",
    "exit_on_error": "off",
    "default_transaction_isolation": "read committed",
    "default_transaction_read_only": "off",
    "default_transaction_deferrable": "off",
}
"""Settings that any role may change. Settings that a server does not have are skipped."""

GUARDED = {
    # With `replica`, neither triggers nor foreign keys are checked.
    "session_replication_role": "origin",
    "zero_damaged_pages": "off",
    "ignore_checksum_failure": "off",
}
"""Settings that only a superuser may change: they are reset if they differ, and the session is refused if that is not
allowed."""

_SET = """
SELECT pg_catalog.set_config(s.name, s.value, %s)
FROM ROWS FROM (pg_catalog.unnest(%s::text[]), pg_catalog.unnest(%s::text[])) AS s(name, value)
WHERE pg_catalog.current_setting(s.name, true) IS NOT NULL
      AND (s.name <> ALL (%s::text[]) OR pg_catalog.current_setting(s.name, true) <> s.value)"""

_CHANGED = """
SELECT s.name, pg_catalog.current_setting(s.name)
FROM ROWS FROM (pg_catalog.unnest(%s::text[]), pg_catalog.unnest(%s::text[])) AS s(name, value)
WHERE pg_catalog.current_setting(s.name, true) <> s.value"""


def pin_session(conn: psycopg.Connection[TupleRow]) -> None:
    """Apply the settings to a session. Raises Terminal `target.setting_unusable` for a guarded setting that the role
    may not reset."""
    try:
        _set(conn, {**PINNED, **GUARDED}, local=False)
    except psycopg.errors.InsufficientPrivilege as error:
        raise _unusable(conn) from error


def pin_transaction(conn: psycopg.Connection[TupleRow], more: Mapping[str, str]) -> None:
    """Apply the pinned settings and others to the open transaction, because a pooler may have assigned it another
    session."""
    pinned = {name: value for name, value in PINNED.items() if not name.startswith("default_")}
    _set(conn, {**pinned, **more}, local=True)


def _set(conn: psycopg.Connection[TupleRow], settings: Mapping[str, str], *, local: bool) -> None:
    conn.execute(_SET, [local, list(settings), list(settings.values()), list(GUARDED)])


def _unusable(conn: psycopg.Connection[TupleRow]) -> Terminal:
    rows = conn.execute(_CHANGED, [list(GUARDED), list(GUARDED.values())]).fetchall()
    found = ", ".join(f"{name} = {value}" for name, value in rows)
    return Terminal(
        "target.setting_unusable",
        f"The connection's user has the setting {found}, which makes loads and reads unreliable.",
        hint="As a superuser: ALTER ROLE … RESET the setting, for the role and for the role in this database.",
    )
