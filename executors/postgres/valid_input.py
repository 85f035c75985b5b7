"""Tests whether PostgreSQL accepts a text as a value of a type, without an error that ends the transaction."""

from __future__ import annotations

import hashlib

from psycopg import sql

from executors.postgres.ddl import Conn

_HAS_SOFT_ERRORS = 160000
"""`pg_input_is_valid` exists from this server version on."""

# Input functions of extensions may raise nevertheless, and so may those of types based on such a type.
_IS_BUILT_IN = """
WITH RECURSIVE t AS (
    SELECT to_regtype(%s)::oid AS oid
    UNION SELECT unnest(ARRAY[p.typelem, p.typbasetype]) FROM pg_type p JOIN t ON p.oid = t.oid
)
SELECT bool_and(f.pronamespace = 'pg_catalog'::regnamespace)
FROM t JOIN pg_type p ON p.oid = t.oid JOIN pg_proc f ON f.oid = p.typinput"""


def is_valid_input(conn: Conn, value: sql.Composable, declared: str) -> sql.Composed:
    """Return a condition: the text `value` parses as the type `declared`, with length and precision; true for NULL.

    `declared` must come from the catalog. May create a temporary function in the session.
    """
    if _has_soft_errors(conn, declared):
        test = sql.SQL("pg_input_is_valid({}, {})").format(value, sql.Literal(declared))
    else:
        test = sql.SQL("{}({})").format(_guarded_function(conn, declared), value)
    return sql.SQL("coalesce({}, true)").format(test)


def _has_soft_errors(conn: Conn, declared: str) -> bool:
    if conn.info.server_version < _HAS_SOFT_ERRORS:
        return False
    row = conn.execute(_IS_BUILT_IN, [declared]).fetchone()
    return bool(row and row[0])


def _guarded_function(conn: Conn, declared: str) -> sql.Identifier:
    """Return a function that tries the assignment and returns whether it succeeded. Unlike a cast, an assignment does
    not truncate."""
    name = sql.Identifier("pg_temp", f"flow_is_{hashlib.sha256(declared.encode()).hexdigest()[:16]}")
    body = sql.Literal(f"DECLARE x {declared}; BEGIN x := v; RETURN true; EXCEPTION WHEN OTHERS THEN RETURN false; END")
    conn.execute(
        sql.SQL("CREATE OR REPLACE FUNCTION {}(v text) RETURNS boolean LANGUAGE plpgsql STRICT AS {}").format(
            name, body
        )
    )
    return name
