"""The lists of functions and tables that queries may use, compared with the catalog of a real server.
FLOW_TEST_POSTGRES_URL selects a server of another version."""

from __future__ import annotations

import psycopg
import pytest
from psycopg import sql

from ir.allowances import listed_functions, listed_relations
from ir.queries import QueryRefused, read_query
from tools.postgres_allowed import list_functions, list_relations


def test_all_that_is_listed_only_computes_a_value_on_this_server_too(conn: psycopg.Connection) -> None:
    assert listed_functions() & _functions(conn) <= set(list_functions([conn]))


def test_a_function_that_is_not_listed_is_refused(conn: psycopg.Connection) -> None:
    """New functions of a later server version are refused too."""
    names = _functions(conn)
    taken = {name for name in names - listed_functions() if _takes(f"SELECT pg_catalog.{_quoted(name)}()")}
    assert (len(names) > 2000, taken) == (True, set())


def test_system_tables_that_are_not_listed_are_refused(conn: psycopg.Connection) -> None:
    found = conn.execute(
        "SELECT relname FROM pg_class WHERE relnamespace = 'pg_catalog'::regnamespace AND relkind IN ('r', 'v')"
    )
    names = {name for (name,) in found}
    assert listed_relations() & names <= set(list_relations([conn]))
    assert {name for name in names if _takes(f"TABLE pg_catalog.{name}")} == names & listed_relations()


@pytest.mark.parametrize("name", ["crosstab", "query_to_xml", "pg_read_file", "lo_import", "set_config", "dblink"])
def test_functions_that_run_text_or_reach_the_server_are_not_listed(name: str) -> None:
    assert name not in listed_functions()


def test_operators_and_casts_of_postgresql_call_nothing_that_writes(conn: psycopg.Connection) -> None:
    found = conn.execute(
        "SELECT p.proname FROM pg_proc p WHERE p.oid < 16384 AND p.provolatile = 'v'"
        " AND p.oid IN (SELECT oprcode FROM pg_operator UNION SELECT castfunc FROM pg_cast)"
    ).fetchall()
    assert found == []


def _functions(conn: psycopg.Connection) -> set[str]:
    found = conn.execute("SELECT proname FROM pg_proc WHERE pronamespace = 'pg_catalog'::regnamespace")
    return {name for (name,) in found}


def _quoted(name: str) -> str:
    return sql.Identifier(name).as_string()


def _takes(text: str) -> bool:
    try:
        read_query(text)
    except QueryRefused:
        return False
    return True
