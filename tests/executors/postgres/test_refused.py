"""Rows that the target would refuse, detected in staging before the load."""

from __future__ import annotations

import json

import pytest

from executors.errors import Terminal, Transient
from executors.model import RecordRef
from executors.postgres.refused import refuse_rows
from executors.postgres.staging import REFUSED_TASK
from executors.rejects import row_id


def refuse(load, on_type_mismatch):
    """Reject the rows, and count them as the engine does."""
    task = refuse_rows(load.conn, load.plan(), on_type_mismatch)
    if task:
        load.winners.append(task.task)
        load.staged += task.rows_staged
        load.rejected += task.rows_rejected
    return task


def found(task):
    return [(rule.rule_id, rule.type, rule.field, rule.on_fail, rule.violations) for rule in task.rules]


def rejects(load):
    return load.conn.execute(
        "SELECT record, rule_id, severity, disposition, row, row_from, source_file, row_id"
        f" FROM flow_staging.{load.tables.rejects} WHERE _flow_task = {REFUSED_TASK} ORDER BY record, rule_id"
    ).fetchall()


def test_a_table_that_refuses_nothing_needs_no_look(loading, make):
    make("CREATE TABLE t (id integer, v text)")
    assert refuse(loading("t", "id integer", "v"), "abort") is None


@pytest.mark.parametrize(
    ("declared", "good", "bad"),
    [
        ("uuid", "6f1c1f9e-0000-4000-8000-000000000001", "nonsense"),
        ("jsonb", '{"a": 1}', '{"a": "\\u0000"}'),
        ("inet", "10.0.0.1", "10.0.0.256"),
        ("smallint", "7", "70000"),
        ("bit(3)", "101", "1011"),
        ("numeric(50,2)", "1.50", "1.505"),
        ("numeric(50,2)", "1e3", "1e60"),
        ("numeric", "1.5e400", "one"),
        ("int[]", "{1,2}", "{1,x}"),
        ("mood", "happy", "glum"),
        ("short", "ab", "abcd"),
        ("positive", "1", "-1"),
        ("interval", "1 day", "one day"),
        ("int4range", "[1,2)", "[2,1)"),
        ("name", "x" * 63, "x" * 64),
        ('"char"', "x", "xy"),
    ],
)
def test_text_that_is_no_value_of_the_type_is_skipped(loading, make, rows, declared, good, bad):
    make("CREATE TYPE mood AS ENUM ('happy', 'sad')")
    make("CREATE DOMAIN short AS varchar(3)")
    make("CREATE DOMAIN positive AS integer CHECK (VALUE > 0)")
    make(f"CREATE TABLE t (id integer, v {declared})")
    load = loading("t", "id integer", "v")
    load.stage([(1, good), (2, bad), (3, None)])
    task = refuse(load, "skip")
    assert found(task) == [("type:v", "type", "v", "skip", 1)]
    assert (task.rows_staged, task.rows_rejected, task.rows_warned, task.dropped_at) == (-1, 1, 0, {"load": 1})
    assert load.commit().inserted == 2
    assert rows("SELECT id FROM t ORDER BY id") == [(1,), (3,)]


def test_a_refused_row_is_reported_as_it_was_staged(loading, make):
    make("CREATE TABLE t (s integer, v uuid)")
    load = loading("t", "s integer", "v")
    load.stage([(1, "x")])
    refuse(load, "skip")
    ((record, rule, severity, disposition, row, row_from, source_file, known),) = rejects(load)
    assert (record, rule, severity, disposition, row_from, source_file) == (
        1,
        "type:v",
        "skip",
        "dropped",
        "input",
        "rows.csv",
    )
    assert json.loads(row) == {"s": 1, "v": "x"}
    assert known == row_id(load.run.run_id, "load", "a" * 64, 1)


def test_a_bad_value_becomes_null_where_the_column_takes_it(loading, make, rows):
    make("CREATE TABLE t (id integer, v inet, w inet NOT NULL)")
    load = loading("t", "id integer", "v", "w")
    load.stage([(1, "bad", "10.0.0.1"), (2, "10.0.0.1", "bad"), (3, "bad", "bad")])
    task = refuse(load, "null")
    assert found(task) == [("type:v", "type", "v", "warn", 2), ("type:w", "type", "w", "skip", 2)]
    assert (task.rows_staged, task.rows_warned) == (-2, 1)
    load.commit()
    assert rows("SELECT id, v::text, host(w) FROM t") == [(1, None, "10.0.0.1")]
    assert [(r[0], r[1], r[3]) for r in rejects(load)] == [
        (1, "type:v", "loaded"),
        (2, "type:w", "dropped"),
        (3, "type:v", "dropped"),
        (3, "type:w", "dropped"),
    ]


def test_abort_names_the_first_places(loading, make):
    make("CREATE TABLE t (v inet)")
    load = loading("t", "v")
    load.stage([("10.0.0.1",)] + [("bad",)] * 30)
    (rule,) = refuse(load, "abort").rules
    assert (rule.on_fail, rule.violations) == ("abort", 30)
    assert rule.first == tuple(RecordRef(0, n) for n in range(2, 22))


def test_a_row_that_the_pass_had_only_warned_about_counts_as_dropped(loading, make):
    make("CREATE TABLE t (v inet)")
    load = loading("t", "v")
    load.stage([("bad",)])
    load.reject({"record": 1, "severity": "warn", "disposition": "loaded"})
    task = refuse(load, "skip")
    assert (task.rows_rejected, task.rows_warned) == (1, -1)
    assert load.commit().staged == 0


def test_rows_of_losing_tasks_are_not_looked_at(loading, make):
    make("CREATE TABLE t (v inet)")
    load = loading("t", "v")
    load.stage([("10.0.0.1",)], task=1)
    load.stage([("bad",)], task=2, wins=False)
    assert found(refuse(load, "abort")) == []


def test_check_constraints_are_looked_for(loading, make, rows):
    make(
        "CREATE TABLE t (a integer CONSTRAINT small CHECK (a < 10), b integer, CONSTRAINT ordered CHECK (a <= b),"
        " u uuid, CONSTRAINT known CHECK (u <> '00000000-0000-0000-0000-000000000000'))"
    )
    load = loading("t", "a integer", "b integer", "u")
    load.stage([(1, 2, None), (20, 30, "bad"), (3, 2, None), (None, 1, "00000000-0000-0000-0000-000000000000")])
    assert found(refuse(load, "skip")) == [
        ("type:u", "type", "u", "skip", 1),
        ("check:known", "check", "u", "skip", 1),
        ("check:ordered", "check", None, "skip", 1),
        ("check:small", "check", "a", "skip", 1),
    ]
    load.commit()
    assert rows("SELECT a, b FROM t") == [(1, 2)]


def test_a_check_on_the_whole_row_is_left_to_the_database(loading, make):
    make("CREATE TABLE t (a integer)")
    make("ALTER TABLE t ADD CHECK (t IS NOT NULL)")
    load = loading("t", "a integer")
    load.stage([(None,)])
    assert refuse(load, "skip") is None
    with pytest.raises(Terminal):
        load.commit()


def test_a_check_on_a_column_that_is_not_loaded_is_left_to_the_database(loading, make):
    make("CREATE TABLE t (a integer, b integer DEFAULT 5, CONSTRAINT ordered CHECK (a <= b))")
    load = loading("t", "a integer")
    load.stage([(9,)])
    assert refuse(load, "skip") is None
    with pytest.raises(Terminal, match="'ordered'"):
        load.commit()


def test_constraints_that_are_not_enforced_refuse_nothing(loading, make, conn):
    if conn.info.server_version < 180000:
        pytest.skip("before PostgreSQL 18 every constraint is enforced")
    make("CREATE TABLE parent (p integer PRIMARY KEY)")
    make("CREATE TABLE t (a integer CHECK (a < 10) NOT ENFORCED REFERENCES parent NOT ENFORCED)")
    load = loading("t", "a integer")
    load.stage([(11,)])
    assert refuse(load, "skip") is None
    assert load.commit().inserted == 1


@pytest.mark.parametrize(
    ("kind", "known", "unknown"),
    [
        ("integer", 1, 2),
        ("uuid", "6f1c1f9e-0000-4000-8000-000000000001", "6f1c1f9e-0000-4000-8000-000000000002"),
        ("text", "a", "b"),
    ],
)
def test_foreign_keys_are_looked_for(loading, make, rows, kind, known, unknown):
    make(f"CREATE TABLE parent (p {kind} PRIMARY KEY)")
    make(f"INSERT INTO parent VALUES ('{known}')")
    make(f"CREATE TABLE t (id integer, p {kind} CONSTRAINT has_parent REFERENCES parent)")
    load = loading("t", "id integer", f"p {kind.replace('text', 'string')}")
    load.stage([(1, known), (2, unknown), (3, None)])
    assert found(refuse(load, "skip")) == [("foreignKey:has_parent", "foreignKey", "p", "skip", 1)]
    load.commit()
    assert rows("SELECT id FROM t ORDER BY id") == [(1,), (3,)]


def test_rows_of_inheriting_tables_are_neither_repeated_nor_referred_to(loading, make, rows):
    make("CREATE TABLE parent (p integer PRIMARY KEY); CREATE TABLE step () INHERITS (parent)")
    make("INSERT INTO step VALUES (5)")
    make("CREATE TABLE t (id integer PRIMARY KEY, p integer REFERENCES parent)")
    make("CREATE TABLE heir () INHERITS (t); INSERT INTO heir VALUES (1, NULL)")
    load = loading("t", "id integer", "p integer")
    load.stage([(1, None), (2, 5)])
    assert [rule for rule, *_ in found(refuse(load, "skip"))] == ["foreignKey:t_p_fkey"]
    load.commit()
    assert rows("SELECT id FROM ONLY t") == [(1,)]


def test_repeated_keys_are_skipped_but_the_first_in_source_order_stays(loading, make, rows):
    make("CREATE TABLE t (k integer PRIMARY KEY, v text)")
    make("INSERT INTO t VALUES (1, 'old')")
    load = loading("t", "k integer", "v")
    load.stage([(2, "second")], task=1, first=5)
    load.stage([(2, "first"), (1, "known"), (3, "new")], task=2, first=1)
    assert found(refuse(load, "skip")) == [("unique:t_pkey", "unique", "k", "skip", 2)]
    load.commit()
    assert rows("SELECT * FROM t ORDER BY k") == [(1, "old"), (2, "first"), (3, "new")]


def test_truncate_looks_for_repeats_in_the_batch_only(loading, make, rows):
    make("CREATE TABLE t (k integer PRIMARY KEY, v text)")
    make("INSERT INTO t VALUES (1, 'old')")
    load = loading("t", "k integer", "v", mode="truncate")
    load.stage([(1, "a"), (1, "b")])
    assert found(refuse(load, "skip")) == [("unique:t_pkey", "unique", "k", "skip", 1)]
    load.commit()
    assert rows("SELECT * FROM t") == [(1, "a")]


def test_null_repeats_nothing(loading, make):
    make("CREATE TABLE t (k integer UNIQUE)")
    load = loading("t", "k integer")
    load.stage([(None,), (None,)])
    assert found(refuse(load, "skip")) == []
    assert load.commit().inserted == 2


def test_a_repeated_key_fails_an_abort_load_with_its_places(loading, make, rows):
    make("CREATE TABLE t (k integer PRIMARY KEY)")
    load = loading("t", "k integer")
    load.stage([(1,), (2,), (1,), (2,)])
    assert refuse(load, "abort") is None
    with pytest.raises(Terminal, match=r"'t_pkey'.*Rows: rows\.csv record 3, 4") as raised:
        load.commit()
    assert raised.value.code == "target.constraint"
    assert rows("SELECT * FROM t") == []


def test_emptied_staging_is_found_out_before_rows_are_refused(loading, make):
    make("CREATE TABLE t (v inet)")
    load = loading("t", "v")
    load.stage([("bad",)])
    load.conn.execute(f"TRUNCATE flow_staging.{load.tables.good}")
    with pytest.raises(Transient, match=r"staging\.lost"):
        refuse(load, "skip")
