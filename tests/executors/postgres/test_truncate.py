"""truncate: all rows are replaced, or none."""

from __future__ import annotations

import pytest

from executors.errors import Terminal, Transient
from executors.postgres.client import connect
from executors.postgres.meta import find_commits


@pytest.fixture
def load(loading, make):
    make("CREATE TABLE t (id integer PRIMARY KEY)")
    make("INSERT INTO t VALUES (1), (2)")
    return loading("t", "id integer", mode="truncate")


def test_the_staged_rows_take_the_place_of_all_rows(load, rows):
    load.stage([(7,)])
    counts = load.commit()
    assert (counts.inserted, counts.loaded) == (1, 1)
    assert rows("SELECT id FROM t") == [(7,)]


def test_no_staged_rows_leave_an_empty_table(load, rows):
    assert load.commit().loaded == 0
    assert rows("SELECT id FROM t") == []


def test_a_failed_insert_leaves_the_old_rows(load, rows):
    load.stage([(7,), (7,)])
    with pytest.raises(Terminal):
        load.commit()
    assert rows("SELECT id FROM t ORDER BY id") == [(1,), (2,)]


def test_staging_that_has_lost_rows_leaves_the_old_rows(load, rows, conn):
    load.stage([(7,)], task=1)
    load.stage([(8,)], task=2)
    conn.execute(f"TRUNCATE flow_staging.{load.tables.good}_1")
    with pytest.raises(Transient, match=r"staging\.lost"):
        load.commit()
    assert rows("SELECT id FROM t ORDER BY id") == [(1,), (2,)]


def test_a_table_that_others_refer_to_is_refused_and_not_emptied(load, make, rows):
    make("CREATE TABLE child (id integer REFERENCES t)")
    load.stage([(7,)])
    with pytest.raises(Terminal, match="foreign key"):
        load.commit()
    assert rows("SELECT id FROM t ORDER BY id") == [(1,), (2,)]


def test_a_reader_that_holds_the_table_bounds_the_wait(load, warehouse, schema, rows, monkeypatch):
    monkeypatch.setattr("executors.postgres.table_lock.LOCK_TIMEOUT", "100ms")
    load.stage([(7,)])
    with connect(warehouse) as reader:
        reader.execute(f"SELECT * FROM {schema}.t")
        with pytest.raises(Transient, match=r"target\.lock_timeout"):
            load.commit()
    assert find_commits(load.conn, load.run.run_id) == []
    assert rows("SELECT id FROM t ORDER BY id") == [(1,), (2,)]


def test_rows_of_inheriting_tables_stay(load, make, rows):
    make("CREATE TABLE heir () INHERITS (t); INSERT INTO heir VALUES (9)")
    load.stage([(7,)])
    assert load.commit().loaded == 1
    assert rows("SELECT id FROM ONLY t") == [(7,)]
    assert rows("SELECT id FROM heir") == [(9,)]


def test_a_partitioned_table_is_replaced_as_a_whole(loading, make, rows):
    make("CREATE TABLE p (id integer) PARTITION BY RANGE (id)")
    make("CREATE TABLE p1 PARTITION OF p FOR VALUES FROM (0) TO (10); INSERT INTO p VALUES (1)")
    load = loading("p", "id integer", mode="truncate")
    load.stage([(7,)])
    assert load.commit().loaded == 1
    assert rows("SELECT id FROM p") == [(7,)]


def test_a_row_that_no_partition_takes_is_reported_as_such(loading, make):
    make("CREATE TABLE p (id integer) PARTITION BY RANGE (id)")
    load = loading("p", "id integer", mode="truncate")
    load.stage([(7,)])
    with pytest.raises(Terminal, match="it fits no partition"):
        load.commit()


def test_a_row_that_a_policy_forbids_is_reported_as_such(load, make):
    make("ALTER TABLE t ENABLE ROW LEVEL SECURITY; ALTER TABLE t FORCE ROW LEVEL SECURITY")
    make("CREATE POLICY small ON t USING (id < 5)")
    load.stage([(7,)])
    with pytest.raises(Terminal) as refused:
        load.commit()
    assert (refused.value.code, "policy" in refused.value.hint) == ("target.forbidden", True)
