"""upsert with orderBy: the newest row of a key wins, within a load and across loads."""

from __future__ import annotations

from datetime import date, datetime

import pytest

from executors.postgres.preview import count_effect

READ = {"date": date.fromisoformat, "timestamp": datetime.fromisoformat, "timestamptz": datetime.fromisoformat}


def numbers(counts):
    return counts.inserted, counts.updated, counts.unchanged, counts.older, counts.suppressed


@pytest.fixture(params=["", " PARTITION BY HASH (k)"], ids=["plain", "partitioned"])
def table(request, make):
    make(f"CREATE TABLE t (k integer PRIMARY KEY, at integer, v text){request.param}")
    if request.param:
        make("CREATE TABLE t0 PARTITION OF t FOR VALUES WITH (MODULUS 1, REMAINDER 0)")
    make("INSERT INTO t VALUES (1, 5, 'five'), (2, 5, 'five'), (3, NULL, 'null'), (4, 5, 'five'), (5, 5, 'five')")


@pytest.fixture
def upsert(loading):
    def start(rows, columns=("k integer", "at integer", "v")):
        load = loading("t", *columns, mode="upsert", upsert_key=["k"])
        load.stage(rows)
        return load

    return start


ROWS = [(1, 4, "older"), (2, 6, "newer"), (3, 1, "newer"), (4, None, "older"), (5, 5, "equal"), (6, 1, "new")]


def test_a_row_that_is_older_than_the_table_s_stays_out_and_is_counted(upsert, table, rows):
    load = upsert([*ROWS, (2, 6, "newer"), (1, 3, "oldest")])
    counts = load.commit(order_by="at")
    assert numbers(counts) == (1, 3, 0, 2, 2)
    assert counts.staged == counts.replaced + counts.suppressed + counts.loaded
    assert rows("SELECT k, v FROM t ORDER BY k") == [
        (1, "five"),
        (2, "newer"),
        (3, "newer"),
        (4, "five"),
        (5, "equal"),
        (6, "new"),
    ]


def test_without_an_order_the_row_that_comes_is_the_newer(upsert, table, rows):
    assert numbers(upsert([(1, 4, "older")]).commit()) == (0, 1, 0, 0, 0)


def test_a_load_that_is_repeated_after_a_newer_one_changes_nothing(upsert, table, rows):
    upsert([(1, 7, "seven")]).commit(order_by="at")
    upsert([(1, 9, "nine")]).commit(order_by="at")
    assert numbers(upsert([(1, 7, "seven")]).commit(order_by="at")) == (0, 0, 0, 1, 1)
    assert numbers(upsert([(1, 9, "nine")]).commit(order_by="at")) == (0, 0, 1, 0, 0)
    assert rows("SELECT v FROM t WHERE k = 1") == [("nine",)]


@pytest.mark.parametrize("older", [0, 900, 1000, 3000, 4000])
def test_counts_do_not_depend_on_how_many_rows_are_older(upsert, table, make, rows, older):
    make("INSERT INTO t SELECT k, 5, 'old' FROM generate_series(10, 4009) AS k")
    load = upsert([(k, 4 if k < older + 10 else 6, "new") for k in range(10, 4010)])
    assert numbers(load.commit(order_by="at")) == (0, 4000 - older, 0, older, older)


def test_a_preview_counts_what_the_load_then_does(upsert, table, conn):
    load = upsert([*ROWS, (1, 3, "oldest")])
    effect = count_effect(conn, load.plan(order_by="at"))
    assert (effect.inserted, effect.updated, effect.unchanged, effect.older) == (1, 3, 0, 2)
    assert (effect.keys.changed, effect.keys.older, effect.keys.gone, effect.after) == (3, 2, 0, 6)
    assert effect.keys.columns == {"at": 2, "v": 3}
    assert [sample.key["k"] for sample in effect.keys.samples] == ["2", "3", "5"]
    assert numbers(load.commit(order_by="at")) == (1, 3, 0, 2, 2)


def test_older_rows_are_reported_from_those_that_a_trigger_swallows(upsert, make, rows):
    make("CREATE TABLE t (k integer PRIMARY KEY, at integer, v text)")
    make("INSERT INTO t VALUES (1, 5, 'five'), (2, 5, 'five'), (3, 5, 'five')")
    make(
        "CREATE FUNCTION no_x() RETURNS trigger LANGUAGE plpgsql AS"
        " $$BEGIN IF NEW.v = 'x' THEN RETURN NULL; END IF; RETURN NEW; END$$"
    )
    make("CREATE TRIGGER no_x BEFORE INSERT OR UPDATE ON t FOR EACH ROW EXECUTE FUNCTION no_x()")
    counts = upsert([(1, 4, "older"), (2, 6, "x"), (3, 5, "five"), (4, 1, "x")]).commit(order_by="at")
    assert numbers(counts) == (0, 0, 1, 1, 3)


@pytest.mark.parametrize(
    ("declared", "kind", "older", "there", "newer"),
    [
        ("timestamp(0)", "timestamp", "2026-01-01 10:00:00", "2026-01-01 10:00:01", "2026-01-01 10:00:02"),
        ("timestamptz", "timestamptz", "2026-01-01 10:00:00+00", "2026-01-01 12:00:00+01", "2026-01-01 12:00:00+00"),
        ("date", "date", "2025-12-31", "2026-01-01", "2026-01-02"),
        ("numeric", "string", "9", "10", "11"),
        ("bigint", "bigint", 9007199254740992, 9007199254740993, 9007199254740994),
        ("text", "string", "Z", "a", "b"),
        ('text COLLATE "POSIX"', "string", "Z", "a", "b"),
        ("char(3)", "string", "Z", "a", "b"),
        ("interval", "string", "1 hour", "61 minutes", "2 hours"),
        ("inet", "string", "10.0.0.9", "10.0.0.10", "10.0.0.11"),
    ],
)
def test_what_is_older_is_reported_in_every_type(upsert, make, rows, declared, kind, older, there, newer):
    read = READ.get(kind, lambda value: value)
    make(f"CREATE TABLE t (k integer PRIMARY KEY, at {declared}, v text)")
    make(f"INSERT INTO t SELECT k, '{there}', 'there' FROM generate_series(1, 3) AS k")
    staged = [(k, read(at), "comes") for k, at in enumerate((older, there, newer), 1)]
    columns = ("k integer", f"at {kind}", "v")
    assert numbers(upsert(staged, columns).commit(order_by="at")) == (0, 2, 0, 1, 1)
    twice = [(9, read(newer), "last"), (9, read(older), "first")]
    upsert(twice, columns).commit(order_by="at")
    assert rows("SELECT k, v FROM t ORDER BY k") == [(1, "there"), (2, "comes"), (3, "comes"), (9, "last")]


def test_a_row_that_the_column_rounds_to_the_same_value_is_not_older(upsert, make, rows):
    make("CREATE TABLE t (k integer PRIMARY KEY, at timestamp(0), v text)")
    make("INSERT INTO t VALUES (1, '2026-01-01 10:00:01', 'there')")
    load = upsert([(1, datetime(2026, 1, 1, 10, 0, 0, 600000), "comes")], ("k integer", "at timestamp", "v"))
    assert numbers(load.commit(order_by="at")) == (0, 1, 0, 0, 0)
