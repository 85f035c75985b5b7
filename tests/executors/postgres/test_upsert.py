"""upsert: the rows that are inserted, updated, unchanged and replaced, and their counts."""

from __future__ import annotations

import pytest

from executors.errors import Terminal, Transient
from executors.postgres.load import LoadFile


def numbers(counts):
    return counts.inserted, counts.updated, counts.unchanged, counts.replaced, counts.suppressed


@pytest.fixture(params=["", " PARTITION BY HASH (k)"], ids=["plain", "partitioned"])
def table(request, make):
    """`t (k, v)` with the row (1, 'a')."""
    make(f"CREATE TABLE t (k integer PRIMARY KEY, v text){request.param}")
    if request.param:
        for part in range(2):
            make(f"CREATE TABLE t{part} PARTITION OF t FOR VALUES WITH (MODULUS 2, REMAINDER {part})")
    make("INSERT INTO t VALUES (1, 'a')")
    return "t"


def test_rows_are_inserted_updated_and_left_alone(loading, table, make, rows):
    make("INSERT INTO t VALUES (2, 'b'), (3, NULL)")
    load = loading("t", "k integer", "v", mode="upsert", upsert_key=["k"])
    load.stage([(1, "changed"), (2, "b"), (3, None), (4, "new")])
    counts = load.commit()
    assert numbers(counts) == (1, 1, 2, 0, 0)
    assert counts.loaded == 4
    assert rows("SELECT * FROM t ORDER BY k") == [(1, "changed"), (2, "b"), (3, None), (4, "new")]


def test_staging_that_has_lost_rows_changes_nothing(loading, table, rows, conn):
    load = loading("t", "k integer", "v", mode="upsert", upsert_key=["k"])
    load.stage([(1, "changed")], task=1)
    load.stage([(2, "b")], task=2)
    conn.execute(f"TRUNCATE flow_staging.{load.tables.good}_2")
    with pytest.raises(Transient, match=r"staging\.lost"):
        load.commit()
    assert rows("SELECT * FROM t") == [(1, "a")]


def test_an_equal_row_is_not_written(loading, table, rows):
    before = rows("SELECT ctid, xmin FROM t")
    load = loading("t", "k integer", "v", mode="upsert", upsert_key=["k"])
    load.stage([(1, "a")])
    assert numbers(load.commit()) == (0, 0, 1, 0, 0)
    assert rows("SELECT ctid, xmin FROM t") == before


@pytest.mark.parametrize("equal", [0, 100, 1000, 3900, 4000])
def test_counts_do_not_depend_on_how_many_rows_are_equal(loading, table, make, rows, equal):
    make("INSERT INTO t SELECT k, 'old' FROM generate_series(2, 4000) AS k")
    load = loading("t", "k integer", "v", mode="upsert", upsert_key=["k"])
    load.stage([(k, "old" if k <= equal else "new") for k in range(2, 4102)])
    unchanged = max(0, min(equal, 4000) - 1)
    assert numbers(load.commit()) == (101, 3999 - unchanged, unchanged, 0, 0)


def test_of_a_repeated_key_the_last_in_source_order_wins(loading, table, rows):
    load = loading("t", "k integer", "v", mode="upsert", upsert_key=["k"])
    load.files = (LoadFile(0, "a.csv", "a" * 64), LoadFile(1, "b.csv", "b" * 64))
    load.stage([(5, "b-1"), (1, "a")], task=1, file=1)
    load.stage([(5, "a-1"), (5, "a-2"), (1, "x")], task=2, file=0)
    assert numbers(load.commit()) == (1, 0, 1, 3, 0)
    assert rows("SELECT * FROM t ORDER BY k") == [(1, "a"), (5, "b-1")]


def test_a_second_run_of_the_same_batch_changes_nothing(loading, table, rows):
    for expected in [(2, 0, 0, 1, 0), (0, 0, 2, 1, 0)]:
        load = loading("t", "k integer", "v", mode="upsert", upsert_key=["k"])
        load.stage([(7, "a"), (7, "b"), (8, "c")])
        assert numbers(load.commit()) == expected
    assert rows("SELECT * FROM t WHERE k > 1 ORDER BY k") == [(7, "b"), (8, "c")]


def test_columns_that_the_source_lacks_keep_their_values(loading, make, rows):
    make("CREATE TABLE t (k integer PRIMARY KEY, v text, w text DEFAULT 'd')")
    make("INSERT INTO t VALUES (1, 'a', 'kept')")
    load = loading("t", "k integer", "v", mode="upsert", upsert_key=["k"])
    load.stage([(1, "b"), (2, "c")])
    load.commit()
    assert rows("SELECT * FROM t ORDER BY k") == [(1, "b", "kept"), (2, "c", "d")]


def test_where_a_row_came_from_alone_makes_no_row_different(loading, make, rows):
    make(
        "CREATE TABLE t (k integer PRIMARY KEY, v text, _source_file_hash text, _flow_run uuid, _source_record bigint)"
    )
    make("INSERT INTO t VALUES (1, 'a', 'old'), (2, 'b', 'old')")
    load = loading("t", "k integer", "v", mode="upsert", upsert_key=["k"])
    load.stage([(1, "a"), (2, "changed")])
    assert numbers(load.commit()) == (0, 1, 1, 0, 0)
    assert rows("SELECT _source_file_hash, _flow_run::text, _source_record FROM t ORDER BY k") == [
        ("old", None, None),
        ("a" * 64, load.run.run_id, 2),
    ]


def test_rows_that_a_trigger_swallows_are_reported_from_equal_ones(loading, make, rows):
    make("CREATE TABLE t (k integer PRIMARY KEY, v text)")
    make("INSERT INTO t VALUES (1, 'a'), (2, 'b')")
    make(
        "CREATE FUNCTION no_x() RETURNS trigger LANGUAGE plpgsql AS"
        " $$BEGIN IF NEW.v = 'x' THEN RETURN NULL; END IF; RETURN NEW; END$$"
    )
    make("CREATE TRIGGER no_x BEFORE INSERT OR UPDATE ON t FOR EACH ROW EXECUTE FUNCTION no_x()")
    load = loading("t", "k integer", "v", mode="upsert", upsert_key=["k"])
    load.stage([(1, "a"), (2, "x"), (3, "x"), (4, "c"), (5, "d")])
    assert numbers(load.commit()) == (2, 0, 1, 0, 2)


@pytest.mark.parametrize(
    ("declared", "kind", "old", "new"),
    [
        ("varchar(5)", "string", "a", "A"),
        ("char(3)", "string", "a", "b"),
        ("json", "json", '{"a": 1}', '{"a": 2}'),
        ("jsonb", "json", '{"a": 1}', '{"a": 2}'),
        ("point", "string", "(1,2)", "(1,3)"),
        ("text[]", "string", "{a,b}", "{a,c}"),
        ("numeric", "string", "1.5", "1.6"),
        ("inet", "string", "10.0.0.1", "10.0.0.2"),
        ("uuid", "uuid", "6f1c1f9e-0000-4000-8000-000000000001", "6f1c1f9e-0000-4000-8000-000000000002"),
    ],
)
def test_changes_are_seen_in_every_type(loading, make, rows, declared, kind, old, new):
    make(f"CREATE TABLE t (k integer PRIMARY KEY, v {declared})")
    make(f"INSERT INTO t VALUES (1, '{old}'), (2, '{old}')")
    load = loading("t", "k integer", f"v {kind}", mode="upsert", upsert_key=["k"])
    load.stage([(1, old), (2, new)])
    assert numbers(load.commit()) == (0, 1, 1, 0, 0)


@pytest.mark.parametrize(
    ("declared", "first", "second"),
    [
        ('text COLLATE "C"', "a", "b"),
        ("char(4)", "a", "b"),
        ("uuid", "6f1c1f9e-0000-4000-8000-000000000001", "6f1c1f9e-0000-4000-8000-000000000002"),
        ("inet", "10.0.0.1", "10.0.0.2"),
        ("smallint", "1", "2"),
        ("text[]", "{a}", "{b}"),
    ],
)
def test_keys_of_many_types_match(loading, make, rows, declared, first, second):
    make(f"CREATE TABLE t (k {declared} PRIMARY KEY, v text)")
    make(f"INSERT INTO t VALUES ('{first}', 'old')")
    load = loading("t", "k", "v", mode="upsert", upsert_key=["k"])
    load.stage([(first, "x"), (first, "y"), (second, "z")])
    assert numbers(load.commit()) == (1, 1, 0, 1, 0)


def test_a_case_insensitive_key_is_matched_as_its_index_does(loading, make, rows):
    if not rows("SELECT 1 FROM pg_collation WHERE collname = 'und-x-icu'"):
        pytest.skip("this server is built without ICU, so it has no such collations")
    make("CREATE COLLATION ci (provider = icu, locale = 'und-u-ks-level2', deterministic = false)")
    make("CREATE TABLE t (k text COLLATE ci PRIMARY KEY, v text COLLATE ci)")
    make("INSERT INTO t VALUES ('Ann', 'x')")
    load = loading("t", "k", "v", mode="upsert", upsert_key=["k"])
    load.stage([("ANN", "first"), ("ann", "X")])
    assert numbers(load.commit()) == (0, 1, 0, 1, 0)
    assert rows("SELECT * FROM t") == [("Ann", "X")]


def test_keys_of_several_columns_in_any_order(loading, make, rows):
    make('CREATE TABLE t (a integer, "B" text, v text, UNIQUE (a, "B"))')
    make("INSERT INTO t VALUES (1, 'x', 'old')")
    load = loading("t", "v", "B", "a integer", mode="upsert", upsert_key=["B", "a"])
    load.stage([("new", "x", 1), ("other", "y", 1)])
    assert numbers(load.commit()) == (1, 1, 0, 0, 0)


def test_a_conflict_with_another_unique_index_stops_the_load_without_showing_values(loading, make, rows):
    make("CREATE TABLE t (k integer PRIMARY KEY, mail text CONSTRAINT one_mail UNIQUE)")
    make("INSERT INTO t VALUES (1, 'secret@x')")
    load = loading("t", "k integer", "mail", mode="upsert", upsert_key=["k"])
    load.stage([(2, "secret@x")])
    with pytest.raises(Terminal, match="one_mail") as raised:
        load.commit()
    assert raised.value.code == "target.constraint"
    assert "secret" not in f"{raised.value} {raised.value.hint} {raised.value.__cause__}"


def test_a_unique_index_dropped_during_the_run_stops_the_load(loading, make):
    make("CREATE TABLE t (k integer CONSTRAINT once UNIQUE, v text)")
    load = loading("t", "k integer", "v", mode="upsert", upsert_key=["k"])
    load.stage([(1, "a")])
    make("ALTER TABLE t DROP CONSTRAINT once")
    with pytest.raises(Terminal) as raised:
        load.commit()
    assert raised.value.code == "upsert.key_not_unique"


def test_rows_of_inheriting_tables_are_not_the_target_s(loading, make, rows):
    make("CREATE TABLE t (k integer PRIMARY KEY, v text)")
    make("CREATE TABLE heir () INHERITS (t)")
    make("INSERT INTO t VALUES (1, 'a')")
    make("INSERT INTO heir VALUES (1, 'b'), (2, 'c')")
    load = loading("t", "k integer", "v", mode="upsert", upsert_key=["k"])
    load.stage([(1, "a"), (2, "c")])
    assert numbers(load.commit()) == (1, 0, 1, 0, 0)
    assert rows("SELECT * FROM ONLY t ORDER BY k") == [(1, "a"), (2, "c")]


def test_rows_without_an_order_that_tie_in_orderby_stop_the_load_and_are_named(loading, make, rows):
    make("CREATE TABLE o (k integer PRIMARY KEY, at integer, v text)")
    load = loading("o", "k integer", "at integer", "v", mode="upsert", upsert_key=["k"])
    load.stage([(1, 1, "old"), (1, 2, "a"), (1, 2, "b"), (2, 3, "c"), (2, 3, "c"), (3, None, "d"), (3, 0, "e")])
    with pytest.raises(Terminal) as stopped:
        load.commit(order_by="at", keeps_order=False)
    assert stopped.value.code == "upsert.key_repeated"
    assert "the same 'at' and different values" in stopped.value.message
    assert "record 2, 3." in stopped.value.message
    assert rows("SELECT * FROM o") == []


def test_rows_that_tie_in_orderby_and_are_the_same_are_one(loading, make, rows):
    make("CREATE TABLE o (k integer PRIMARY KEY, at integer, v text)")
    load = loading("o", "k integer", "at integer", "v", mode="upsert", upsert_key=["k"])
    load.stage([(1, 2, "a"), (1, 2, "a"), (1, 1, None)])
    assert numbers(load.commit(order_by="at", keeps_order=False)) == (1, 0, 0, 2, 0)
    assert rows("SELECT * FROM o") == [(1, 2, "a")]


def test_only_rows_that_may_replace_others_do(loading, table, make, rows):
    make("INSERT INTO t VALUES (2, 'b')")
    load = loading("t", "k integer", "v", mode="upsert", upsert_key=["k"])
    load.stage([(1, "changed"), (2, "b"), (3, "new")])
    assert numbers(load.commit(may_replace={(0, 1), (0, 2)})) == (1, 1, 1, 0, 0)
    assert rows("SELECT * FROM t ORDER BY k") == [(1, "changed"), (2, "b"), (3, "new")]


def test_a_key_that_appeared_is_not_replaced_in_the_place_of_one_that_has_gone(loading, table, make, rows):
    load = loading("t", "k integer", "v", mode="upsert", upsert_key=["k"])
    load.stage([(1, "changed"), (2, "ours")])
    make("DELETE FROM t")
    make("INSERT INTO t VALUES (2, 'theirs')")
    with pytest.raises(Transient, match=r"replay\.keys_appeared"):
        load.commit(may_replace={(0, 1)})
    assert rows("SELECT * FROM t") == [(2, "theirs")]


def test_what_a_hook_has_set_holds_to_the_end_of_the_transaction(loading, table, conn):
    names = ("work_mem", "enable_hashagg", "default_statistics_target")
    load, found = loading("t", "k integer", "v", mode="upsert", upsert_key=["k"]), []
    load.stage([(1, "changed")])

    def look():
        found.extend(conn.execute(f"SELECT current_setting('{name}')").fetchone()[0] for name in names)
        return ()

    load.commit(settings={"work_mem": "8MB", "default_statistics_target": "77"}, hooks_ran=look)
    assert found == ["8MB", "on", "77"]


def test_keys_that_a_trigger_makes_equal_are_reported(loading, make, rows):
    make("CREATE TABLE t (k text PRIMARY KEY, v text)")
    make("CREATE FUNCTION upper_k() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN NEW.k := upper(NEW.k); RETURN NEW; END'")
    make("CREATE TRIGGER up BEFORE INSERT ON t FOR EACH ROW EXECUTE FUNCTION upper_k()")
    load = loading("t", "k", "v", mode="upsert", upsert_key=["k"])
    load.stage([("a", "1"), ("A", "2")])
    with pytest.raises(Terminal, match="same key in the table") as stopped:
        load.commit()
    assert stopped.value.code == "target.key_repeated"
    assert rows("SELECT * FROM t") == []
