"""The text of the statements of a load."""

from __future__ import annotations

import pytest
from psycopg import errors, sql

from executors.postgres.recording import LONGEST, recorded


def test_statements_are_collected_in_order_without_the_values_of_parameters(conn):
    with recorded(conn) as texts:
        conn.execute("SELECT %s", ["secret"])
        conn.cursor().execute(sql.SQL("SELECT 1 AS {}").format(sql.Identifier("A")))
        conn.execute(b"SELECT 2")
    conn.execute("SELECT 3")

    assert texts == ["SELECT %s", 'SELECT 1 AS "A"', "SELECT 2"]


def test_a_statement_that_fails_is_collected_too_and_ends_the_collecting(conn):
    with pytest.raises(errors.UndefinedTable), recorded(conn) as texts:
        conn.execute("SELECT FROM nowhere")
    conn.execute("SELECT 3")

    assert texts == ["SELECT FROM nowhere"]


def test_what_is_long_is_cut(conn):
    with recorded(conn) as texts:
        conn.execute(f"SELECT '{'x' * LONGEST}'")

    assert len(texts[0]) == LONGEST + 1
