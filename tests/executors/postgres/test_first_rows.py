"""The first rows of a table, read without writing."""

from __future__ import annotations

import pytest

from executors.postgres import first_rows
from executors.postgres.first_rows import read_first_rows
from executors.table_name import TableName


def test_values_are_texts_of_the_database_and_long_ones_are_cut(conn, schema, monkeypatch):
    monkeypatch.setattr(first_rows, "LONGEST", 5)
    conn.execute(f"CREATE TABLE {schema}.t (id numeric, word text)")
    conn.execute(f"INSERT INTO {schema}.t VALUES (1.50, repeat('x', 9)), (NULL, '')")

    found = read_first_rows(conn, TableName(schema, "t"))

    assert found.columns == ("id", "word")
    assert [[(cut.text, cut.is_cut) for cut in row] for row in found.rows] == [
        [("1.50", False), ("xxxxx", True)],
        [(None, False), ("", False)],
    ]
    assert not found.has_more


def test_rows_and_columns_are_bounded(conn, schema, monkeypatch):
    monkeypatch.setattr(first_rows, "MOST_ROWS", 2)
    monkeypatch.setattr(first_rows, "MOST_COLUMNS", 1)
    conn.execute(f"CREATE TABLE {schema}.t AS SELECT n AS a, n AS b FROM generate_series(1, 3) AS n")

    found = read_first_rows(conn, TableName(schema, "t"))

    assert (len(found.rows), found.has_more, found.columns, found.more_columns) == (2, True, ("a",), 1)


@pytest.mark.parametrize(
    ("made", "trouble"), [("", "does not exist"), ("CREATE VIEW {}.t AS SELECT 1", "is now a view")]
)
def test_what_is_no_table_is_not_read(conn, schema, made, trouble):
    if made:
        conn.execute(made.format(schema))

    assert trouble in read_first_rows(conn, TableName(schema, "t")).trouble
