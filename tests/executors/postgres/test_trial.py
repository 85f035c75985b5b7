"""Rows that are refused by their INSERT only."""

from __future__ import annotations

import pytest

from executors.errors import Terminal
from executors.postgres.trial import refuse_tried

PARTITIONED = """
    CREATE TABLE t (id integer, v text) PARTITION BY RANGE (id);
    CREATE TABLE t1 PARTITION OF t FOR VALUES FROM (1) TO (100);
    CREATE TABLE t2 PARTITION OF t FOR VALUES FROM (100) TO (200) PARTITION BY LIST (v);
    CREATE TABLE t2a PARTITION OF t2 (CONSTRAINT odd CHECK (id % 2 = 1)) FOR VALUES IN ('a')"""
TRIGGER = """
    CREATE TABLE t (id integer, v text);
    CREATE FUNCTION look() RETURNS trigger LANGUAGE plpgsql AS
        $$BEGIN IF NEW.id = 2 THEN RAISE EXCEPTION 'secret %', NEW.v; END IF; RETURN NEW; END$$;
    CREATE TRIGGER look BEFORE INSERT ON t FOR EACH ROW EXECUTE FUNCTION look()"""
WHOLE_ROW = "CREATE TABLE t (id integer, v text); ALTER TABLE t ADD CONSTRAINT whole CHECK (t IS NOT NULL)"
EXPRESSION = "CREATE TABLE t (id integer, v text); CREATE INDEX inverse ON t ((1 / (id - 2)))"
NO_DEFAULT = "CREATE TABLE t (id integer, v text, w integer DEFAULT 5, CONSTRAINT ordered CHECK (id < w))"


def outcome(load, failure):
    task = refuse_tried(load.conn, load.plan(), failure)
    load.winners.append(task.task)
    load.staged += task.rows_staged
    load.rejected += task.rows_rejected
    return [(rule.rule_id, rule.field, rule.violations) for rule in task.rules]


def failing(load):
    with pytest.raises(Terminal) as stopped:
        load.commit()
    return stopped.value


@pytest.mark.parametrize("mode", ["append", "truncate", "upsert"])
def test_rows_without_a_partition_are_named_and_skipped(loading, make, rows, schema, mode):
    make(PARTITIONED)
    if mode == "upsert":
        make(
            "DROP TABLE t; CREATE TABLE t (id integer PRIMARY KEY, v text) PARTITION BY RANGE (id);"
            "CREATE TABLE t1 PARTITION OF t FOR VALUES FROM (1) TO (100)"
        )
    fields = {"upsert": {"upsert_key": ["id"]}}.get(mode, {})
    load = loading("t", "id integer", "v", mode=mode, **fields)
    load.stage([(1, "x"), (300, "y"), (2, "z"), (301, "y")])
    failure = failing(load)
    assert "it fits no partition. Rows: rows.csv record 2, 4" in failure.message
    assert outcome(load, failure) == [("partition:t", None, 2)]
    assert load.commit().inserted == 2
    assert rows("SELECT id FROM t ORDER BY id") == [(1,), (2,)]


def test_of_partitions_of_partitions_the_one_that_lacks_a_part_is_named(loading, make):
    make(PARTITIONED)
    load = loading("t", "id integer", "v")
    load.stage([(101, "a"), (102, "a"), (103, "b")])
    assert outcome(load, failing(load)) == [("partition:t2", None, 1), ("check:odd", None, 1)]
    assert load.commit().inserted == 1


@pytest.mark.parametrize(
    ("table", "rule"),
    [
        (TRIGGER, "trigger:{schema}.look()"),
        (WHOLE_ROW, "check:whole"),
        (EXPRESSION, "value:22012"),
        (NO_DEFAULT, "check:ordered"),
    ],
)
def test_what_the_table_raises_for_a_row_is_reported_without_its_values(loading, make, rows, schema, table, rule):
    make(table)
    bad = {WHOLE_ROW: (2, None), NO_DEFAULT: (9, "secret")}.get(table, (2, "secret"))
    load = loading("t", "id integer", "v")
    load.stage([(1, "x"), bad, (3, "y")])
    failure = failing(load)
    assert "Rows: rows.csv record 2." in failure.message
    assert outcome(load, failure) == [(rule.format(schema=schema), None, 1)]
    messages = load.conn.execute(f"SELECT message FROM flow_staging.{load.tables.rejects}").fetchall()
    assert "secret" not in str(messages) + failure.message
    assert load.commit().inserted == 2


def test_rows_that_a_policy_keeps_out_are_named(loading, make, schema):
    make(
        "CREATE TABLE t (id integer); ALTER TABLE t ENABLE ROW LEVEL SECURITY; ALTER TABLE t FORCE ROW LEVEL SECURITY;"
        "CREATE POLICY small ON t WITH CHECK (id < 10)"
    )
    load = loading("t", "id integer")
    load.stage([(1,), (11,)])
    failure = failing(load)
    assert (failure.code, "Rows: rows.csv record 2." in failure.message) == ("target.forbidden", True)
    assert outcome(load, failure) == [("policy:t", None, 1)]


def test_a_row_that_another_unique_index_of_an_upsert_keeps_out_is_skipped(loading, make, rows):
    make("CREATE TABLE t (k integer PRIMARY KEY, name text UNIQUE); INSERT INTO t VALUES (1, 'taken')")
    load = loading("t", "k integer", "name", mode="upsert", upsert_key=["k"])
    load.stage([(2, "taken"), (3, "free")])
    assert outcome(load, failing(load)) == [("unique:t_name_key", None, 1)]
    assert load.commit().inserted == 1
    assert rows("SELECT * FROM t ORDER BY k") == [(1, "taken"), (3, "free")]


def test_a_value_that_is_too_large_for_an_index_is_named_and_skipped(loading, make):
    make("CREATE TABLE t (v text); CREATE INDEX tall ON t (v)")
    load = loading("t", "v")
    load.stage([("small",), ("".join(chr(33 + n * n % 7919 % 90) for n in range(60_000)),)])
    failure = failing(load)
    assert failure.code == "target.limit_exceeded"
    assert "Rows: rows.csv record 2." in failure.message
    assert outcome(load, failure) == [("size:t", None, 1)]


def test_nothing_of_a_trial_stays(loading, make, rows):
    make(PARTITIONED)
    load = loading("t", "id integer", "v")
    load.stage([(1, "x"), (300, "y")])
    outcome(load, failing(load))
    assert rows("SELECT count(*) FROM t") == [(0,)]


def test_a_failure_that_is_no_row_s_fault_takes_none_out(loading, make):
    make("CREATE TABLE t (id integer)")
    load = loading("t", "id integer")
    load.stage([(1,)])
    assert refuse_tried(load.conn, load.plan(), Terminal("target.failed", "no cause")) is None
