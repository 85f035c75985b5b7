"""upsert with a unique index that is NULLS NOT DISTINCT."""

from __future__ import annotations

import pytest

from executors.postgres.load_modes import load_handler
from executors.postgres.refused import refuse_rows

PARTITIONS = (
    " PARTITION BY LIST (k); CREATE TABLE t0 PARTITION OF t FOR VALUES IN (NULL);"
    " CREATE TABLE t1 PARTITION OF t DEFAULT"
)


@pytest.fixture(params=["", PARTITIONS], ids=["plain", "partitioned"])
def table(request, make):
    """`t (k, l, v)` with the rows (NULL, 1, 'a'), (1, NULL, 'b') and (NULL, NULL, 'c')."""
    make(f"CREATE TABLE t (k varchar(5), l integer, v text){request.param}")
    make("CREATE UNIQUE INDEX t_k ON t (k, l) NULLS NOT DISTINCT")
    make("INSERT INTO t VALUES (NULL, 1, 'a'), ('1', NULL, 'b'), (NULL, NULL, 'c')")


def upsert(loading, **fields):
    return loading("t", "k", "l integer", "v", mode="upsert", upsert_key=["k", "l"], **fields)


ALL = "SELECT k, l, v FROM t ORDER BY k NULLS FIRST, l NULLS FIRST"


@pytest.mark.usefixtures("table")
def test_null_matches_null(loading, rows):
    load = upsert(loading)
    load.stage([(None, 1, "changed"), ("1", None, "b"), (None, None, "c"), (None, 2, "new"), ("2", None, "new")])
    counts = load.commit()
    assert (counts.inserted, counts.updated, counts.unchanged) == (2, 1, 2)
    assert rows(ALL) == [
        (None, None, "c"),
        (None, 1, "changed"),
        (None, 2, "new"),
        ("1", None, "b"),
        ("2", None, "new"),
    ]


@pytest.mark.usefixtures("table")
def test_of_rows_with_null_for_a_key_the_last_wins(loading, rows):
    load = upsert(loading)
    load.stage([(None, None, "first"), (None, None, "last")])
    counts = load.commit()
    assert (counts.updated, counts.replaced) == (1, 1)
    assert rows("SELECT v FROM t WHERE k IS NULL AND l IS NULL") == [("last",)]


@pytest.mark.usefixtures("table")
def test_a_preview_matches_null_too(loading, conn):
    load = upsert(loading)
    load.stage([(None, 1, "changed"), (None, None, "c"), (None, 2, "new")])
    with conn.transaction():
        effect = load_handler("upsert").effect(conn, load.plan())
    assert (effect.inserted, effect.updated, effect.unchanged) == (1, 1, 1)


@pytest.mark.usefixtures("table")
def test_many_equal_rows_are_matched_before_they_are_written(loading, make, rows):
    make("INSERT INTO t SELECT NULL, n, 'old' FROM generate_series(2, 3000) AS n")
    load = upsert(loading)
    load.stage([(None, n, "old") for n in range(2, 3001)] + [(None, 3001, "new")])
    counts = load.commit()
    assert (counts.inserted, counts.updated, counts.unchanged) == (1, 0, 2999)


def test_rows_that_a_trigger_may_keep_out_are_counted(loading, make, table):
    make("CREATE FUNCTION same() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RETURN NEW; END'")
    make("CREATE TRIGGER same BEFORE INSERT ON t FOR EACH ROW EXECUTE FUNCTION same()")
    load = upsert(loading)
    load.stage([(None, 1, "changed"), (None, None, "c")])
    counts = load.commit()
    assert (counts.updated, counts.unchanged, counts.suppressed) == (1, 1, 0)


def test_a_key_of_a_single_column_may_be_null(loading, make, rows):
    make("CREATE TABLE t (k integer UNIQUE NULLS NOT DISTINCT, v text)")
    make("INSERT INTO t VALUES (NULL, 'a')")
    load = loading("t", "k integer", "v", mode="upsert", upsert_key=["k"])
    load.stage([(None, "b"), (1, "c")])
    counts = load.commit()
    assert (counts.inserted, counts.updated) == (1, 1)
    assert rows("SELECT * FROM t ORDER BY k NULLS FIRST") == [(None, "b"), (1, "c")]


@pytest.mark.parametrize("first", ["", "NULLS NOT DISTINCT"])
def test_of_two_indexes_on_the_same_columns_the_one_that_takes_no_null_twice_decides(loading, make, rows, first):
    second = "" if first else "NULLS NOT DISTINCT"
    make(f"CREATE TABLE t (k integer, v text, UNIQUE {first} (k), UNIQUE {second} (k))")
    make("INSERT INTO t VALUES (NULL, 'a')")
    load = loading("t", "k integer", "v", mode="upsert", upsert_key=["k"])
    load.stage([(None, "b")])
    assert load.commit().updated == 1
    assert rows("SELECT * FROM t") == [(None, "b")]


def test_null_is_refused_in_the_key_of_an_ordinary_index(loading, make):
    make("CREATE TABLE t (k integer UNIQUE, v text)")
    load = loading("t", "k integer", "v", mode="upsert", upsert_key=["k"])
    assert not load.columns[0].nullable


def test_an_append_skips_what_repeats_null(loading, make, rows):
    make("CREATE TABLE t (k varchar(5) UNIQUE NULLS NOT DISTINCT)")
    make("INSERT INTO t VALUES (NULL)")
    load = loading("t", "k")
    load.stage([(None,), ("a",)])
    assert [rule.violations for rule in refuse_rows(load.conn, load.plan(), "skip").rules] == [1]
