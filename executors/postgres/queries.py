"""Checks of a user-written query that need the database: what its names refer to."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from executors.errors import Terminal
from executors.model import Connection
from executors.postgres.ddl import Conn
from executors.postgres.roles import refuse_server_rights
from ir.allowances import CATALOG, FLOW_SCHEMAS, Name, listed_functions
from ir.queries import Query
from ir.query_allowances import not_allowed

# Built-in objects of PostgreSQL have smaller oids.
_FUNCTIONS = """
SELECT n.nspname, p.proname, bool_or(p.provolatile = 'v'), bool_or(n.nspname = 'pg_catalog' AND p.oid >= 16384)
FROM unnest(%s::text[], %s::text[]) AS f(schema, name)
JOIN pg_proc p ON p.proname = f.name JOIN pg_namespace n ON n.oid = p.pronamespace
WHERE n.nspname = coalesce(nullif(f.schema, ''), 'pg_catalog') GROUP BY 1, 2 ORDER BY 1, 2"""

# `(x).name` is a function call if a function of that name takes one argument.
_FIELDS = """
SELECT DISTINCT p.proname FROM pg_proc p
WHERE p.pronamespace = 'pg_catalog'::regnamespace AND p.proname = ANY (%s)
AND p.pronargs >= 1 AND p.pronargs - p.pronargdefaults <= 1 ORDER BY 1"""

_OPERATORS = """
SELECT DISTINCT fn.nspname, p.proname
FROM unnest(%s::text[], %s::text[]) AS f(schema, name)
JOIN pg_operator o ON o.oprname = f.name JOIN pg_namespace n ON n.oid = o.oprnamespace AND n.nspname = f.schema
JOIN pg_proc p ON p.oid = o.oprcode JOIN pg_namespace fn ON fn.oid = p.pronamespace ORDER BY 1, 2"""

# Values of enumerations are looked up; parsing values of any other type may call user-defined functions.
_TYPES = """
SELECT DISTINCT n.nspname, t.typname
FROM unnest(%s::text[], %s::text[]) AS f(schema, name)
JOIN pg_type t ON t.typname = f.name JOIN pg_namespace n ON n.oid = t.typnamespace AND n.nspname = f.schema
WHERE t.typtype <> 'e' ORDER BY 1, 2"""

# Also through views, materialized views, partitions and child tables.
_REACHED = """
WITH RECURSIVE reached(oid) AS (
  SELECT c.oid FROM unnest(%s::text[], %s::text[]) AS f(schema, name)
  JOIN pg_namespace n ON n.nspname = f.schema JOIN pg_class c ON c.relnamespace = n.oid AND c.relname = f.name
  UNION
  SELECT below.oid FROM reached AS r CROSS JOIN LATERAL (
    SELECT d.refobjid FROM pg_rewrite w JOIN pg_depend d ON d.classid = 'pg_rewrite'::regclass AND d.objid = w.oid
    WHERE w.ev_class = r.oid AND w.ev_type = '1' AND d.refclassid = 'pg_class'::regclass
    UNION ALL SELECT i.inhrelid FROM pg_inherits i WHERE i.inhparent = r.oid) AS below(oid))
SELECT n.nspname, c.relname
FROM reached r JOIN pg_class c ON c.oid = r.oid JOIN pg_namespace n ON n.oid = c.relnamespace
WHERE n.nspname = ANY (%s) ORDER BY 1, 2 LIMIT 1"""


def require_allowed(conn: Conn, query: Query, connection: Connection, what: str) -> None:
    """Raise Terminal for a query that does more than read over this connection. `what` names the query in messages."""
    refuse_server_rights(conn, connection, what)
    require_functions(conn, query, connection, what)
    refuse_flow_tables(conn, query.tables, what)


def require_functions(conn: Conn, query: Query, connection: Connection, what: str) -> None:
    """Raise Terminal unless every called function only computes a value, or an admin has allowed it."""
    allowed = connection.allowance.functions
    called = [*query.foreign_functions, *_operator_functions(conn, query.operators), *_find(conn, _TYPES, query.types)]
    if missing := [name for name in dict.fromkeys(called) if name not in allowed]:
        names = ", ".join(_written(name) for name in missing)
        raise Terminal(
            "query.function_not_allowed",
            not_allowed(missing, connection.name),
            hint=f"Remove it, or ask an admin to allow {names} on the connection.",
        )
    _refuse_changing(conn, query, what)
    fields = [name for (name,) in conn.execute(_FIELDS, [list(query.fields)]).fetchall()]
    if unknown := [name for name in fields if name not in listed_functions()]:
        raise _does_more([(CATALOG, name) for name in unknown], what)


def _operator_functions(conn: Conn, operators: Sequence[Name]) -> list[Name]:
    """Return the functions of operators, except listed built-in functions, which only compute a value."""
    found = _find(conn, _OPERATORS, operators)
    return [(schema, name) for schema, name in found if schema != CATALOG or name not in listed_functions()]


def _refuse_changing(conn: Conn, query: Query, what: str) -> None:
    found: list[tuple[str, str, bool, bool]] = _ask(conn, _FUNCTIONS, query.functions)
    if added := [(schema, name) for schema, name, _, is_added in found if is_added]:
        raise _does_more(added, what)
    if changing := [(schema, name) for schema, name, is_volatile, _ in found if is_volatile]:
        raise Terminal(
            "query.not_allowed",
            f"{what} calls {_listed(changing)}, which is volatile in PostgreSQL: it may write, or return different "
            "values each time.",
            hint="Remove it. If it does neither, its owner can declare this: ALTER FUNCTION … STABLE.",
        )


def _does_more(names: Iterable[Name], what: str) -> Terminal:
    return Terminal(
        "query.not_allowed",
        f"{what} calls {_listed(names)}, which is not one of PostgreSQL's functions that only compute a value.",
        hint="Remove it.",
    )


def refuse_flow_tables(conn: Conn, tables: Sequence[Name], what: str) -> None:
    """Raise Terminal if the query reads one of Flow's own tables, directly or through a view."""
    named = [name for name in tables if name[0]]
    schemas, names = [schema for schema, _ in named], [name for _, name in named]
    found = conn.execute(_REACHED, [schemas, names, list(FLOW_SCHEMAS)]).fetchone() if named else None
    if found:
        raise Terminal(
            "query.not_allowed",
            f"{what} reads {_written((found[0], found[1]))}; the schema {found[0]} belongs to Flow.",
            hint="Read other tables and views.",
        )


def _find(conn: Conn, statement: str, names: Sequence[Name]) -> list[Name]:
    return [(schema, name) for schema, name in _ask(conn, statement, names)]


def _ask(conn: Conn, statement: str, names: Sequence[Name]) -> list[Any]:
    if not names:
        return []
    return conn.execute(statement, [[schema for schema, _ in names], [name for _, name in names]]).fetchall()


def _listed(names: Iterable[Name]) -> str:
    return ", ".join(map(_written, names))


def _written(name: Name) -> str:
    return ".".join(name)
