"""append, and the guarantees of every load transaction."""

from __future__ import annotations

import pytest

from executors.errors import LeaseLost, TargetBusy, Terminal, Transient
from executors.load_record import InputCounts, Loaded
from executors.postgres.client import connect
from executors.postgres.fences import raise_fence
from executors.postgres.meta import files_loaded, find_commits, last_commit_exists, last_files


def test_rows_are_appended_by_name(loading, make, rows):
    make("CREATE TABLE t (id integer, name text, status text)")
    load = loading("t", "status", "id integer", "name")
    load.stage([("new", 1, "Ann"), ("old", 2, "Zed")])
    counts = load.commit()
    assert (counts.inserted, counts.loaded) == (2, 2)
    assert rows("SELECT id, name, status FROM t ORDER BY id") == [(1, "Ann", "new"), (2, "Zed", "old")]


def test_a_missing_column_gets_its_default(loading, make, rows):
    make("CREATE TABLE t (id integer, name text, status text DEFAULT 'fresh' NOT NULL)")
    load = loading("t", "id integer")
    load.stage([(1,)])
    load.commit()
    assert rows("SELECT * FROM t") == [(1, None, "fresh")]


def test_rows_of_a_losing_task_are_not_loaded(loading, make, rows):
    make("CREATE TABLE t (id integer)")
    load = loading("t", "id integer")
    load.stage([(1,), (2,)], task=7)
    load.stage([(1,), (2,)], task=8, wins=False)
    assert load.commit().staged == 2
    assert rows("SELECT id FROM t ORDER BY id") == [(1,), (2,)]


def test_rows_go_in_as_their_tasks_stand_in_the_source(loading, make, rows):
    """An index is filled fastest in that order, whichever task starts first."""
    make("CREATE TABLE t (id integer)")
    load = loading("t", "id integer")
    load.stage([(3,), (4,)], task=8)
    load.stage([(1,), (2,)], task=7)
    load.winners.reverse()
    load.commit()
    assert rows("SELECT id FROM t ORDER BY ctid") == [(1,), (2,), (3,), (4,)]


def test_a_second_commit_of_the_run_returns_the_counts_of_the_first(loading, make, rows):
    make("CREATE TABLE t (id integer)")
    load = loading("t", "id integer")
    load.stage([(1,), (2,)])
    assert load.commit() == load.commit()
    assert rows("SELECT count(*) FROM t") == [(2,)]


def test_a_raised_fence_stops_the_load(loading, make, rows, conn):
    make("CREATE TABLE t (id integer)")
    load = loading("t", "id integer", token=1)
    load.stage([(1,)])
    raise_fence(conn, load.run.tenant, load.run.pipeline, "load", 2)
    with pytest.raises(LeaseLost):
        load.commit()
    assert rows("SELECT * FROM t") == []


def test_emptied_staging_stops_the_load(loading, make, rows, conn):
    make("CREATE TABLE t (id integer)")
    load = loading("t", "id integer")
    load.stage([(1,)])
    conn.execute(f"TRUNCATE flow_staging.{load.tables.good}")
    with pytest.raises(Transient, match=r"staging\.lost"):
        load.commit()
    assert find_commits(conn, load.run.run_id) == []


def test_a_task_whose_rows_are_gone_stops_the_load(loading, make, rows, conn):
    make("CREATE TABLE t (id integer)")
    load = loading("t", "id integer")
    load.stage([(1,)], task=1)
    load.stage([(2,)], task=2)
    conn.execute(f"TRUNCATE flow_staging.{load.tables.good}_2")
    with pytest.raises(Transient, match=r"staging\.lost"):
        load.commit()
    assert rows("SELECT * FROM t") == []


def test_lost_rows_are_not_taken_for_swallowed_ones(loading, make, conn):
    make("CREATE TABLE t (id integer)")
    make("CREATE FUNCTION pass() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RETURN NEW; END'")
    make("CREATE TRIGGER pass BEFORE INSERT ON t FOR EACH ROW EXECUTE FUNCTION pass()")
    load = loading("t", "id integer")
    load.stage([(1,)])
    conn.execute(f"TRUNCATE flow_staging.{load.tables.good}")
    with pytest.raises(Transient, match=r"staging\.lost"):
        load.commit()


def test_emptied_rejects_stop_the_load(loading, make, conn):
    make("CREATE TABLE t (id integer)")
    load = loading("t", "id integer")
    load.reject({})
    conn.execute(f"TRUNCATE flow_staging.{load.tables.rejects}")
    with pytest.raises(Transient, match=r"staging\.lost"):
        load.commit()


def test_the_marker_holds_counts_files_and_token(loading, make, conn):
    make("CREATE TABLE t (id integer)")
    load = loading("t", "id integer", token=5)
    load.stage([(1,)])
    load.commit(input=InputCounts(rows_in=1, rows_read=3))
    run = load.run
    (commit,) = find_commits(conn, run.run_id)
    assert (commit.node, commit.attempt, commit.token, commit.files_done) == ("load", 1, 5, ("a" * 64,))
    assert commit.node_counts["rows_read"] == 3
    assert commit.counts.loaded == 1
    assert last_commit_exists(conn, run.tenant, run.pipeline, "load", run.run_id)
    wanted, elsewhere = ["a" * 64, "b" * 64], ("nowhere", "t")
    found = files_loaded(conn, run.tenant, run.pipeline, "load", wanted, others=[], table=elsewhere)
    assert found == {"a" * 64: Loaded(token=5, node="load", is_undone=False)}
    assert last_files(conn, run.tenant, run.pipeline, "load") == (5, frozenset({"a" * 64}))


def test_another_load_of_the_table_learns_that_it_is_busy(loading, make, warehouse, schema):
    make("CREATE TABLE t (id integer)")
    load = loading("t", "id integer")
    load.stage([(1,)])
    with connect(warehouse) as other:
        other.execute("SELECT pg_advisory_xact_lock(hashtextextended('flow.load ' || %s, 0))", [f'"{schema}"."t"'])
        with pytest.raises(TargetBusy):
            load.commit()


def test_a_trigger_that_swallows_rows_is_counted(loading, make, rows):
    make("CREATE TABLE t (id integer)")
    make(
        "CREATE FUNCTION no_odd() RETURNS trigger LANGUAGE plpgsql AS"
        " 'BEGIN IF NEW.id % 2 = 1 THEN RETURN NULL; END IF; RETURN NEW; END'"
    )
    make("CREATE TRIGGER no_odd BEFORE INSERT ON t FOR EACH ROW EXECUTE FUNCTION no_odd()")
    load = loading("t", "id integer")
    load.stage([(1,), (2,), (3,)])
    counts = load.commit()
    assert (counts.inserted, counts.suppressed) == (1, 2)


def test_a_rule_that_swallows_rows_stops_the_load(loading, make, rows):
    make("CREATE TABLE t (id integer)")
    make("CREATE RULE nothing AS ON INSERT TO t DO INSTEAD NOTHING")
    load = loading("t", "id integer")
    load.stage([(1,)])
    with pytest.raises(Terminal, match=r"rows\.lost"):
        load.commit()


def test_the_file_hash_is_filled_where_the_target_has_the_column(loading, make, rows):
    make("CREATE TABLE t (id integer, _source_file_hash text NOT NULL)")
    load = loading("t", "id integer")
    load.files = (load.files[0], type(load.files[0])(1, "b.csv", "b" * 64))
    load.stage([(1,)], task=1, file=0)
    load.stage([(2,)], task=2, file=1)
    load.commit()
    assert rows("SELECT * FROM t ORDER BY id") == [(1, "a" * 64), (2, "b" * 64)]


def test_each_row_reports_its_run_and_its_record(loading, make, rows):
    make("CREATE TABLE t (id integer, _flow_run uuid, _source_record bigint)")
    load = loading("t", "id integer")
    load.stage([(7,), (8,)])
    load.commit()
    assert rows("SELECT id, _flow_run::text, _source_record FROM t ORDER BY id") == [
        (7, load.run.run_id, 1),
        (8, load.run.run_id, 2),
    ]


def test_a_column_of_such_a_name_in_a_type_of_its_own_is_left_alone(loading, make, rows):
    make("CREATE TABLE t (id integer, _flow_run integer DEFAULT 7, _source_record date)")
    load = loading("t", "id integer")
    load.stage([(1,)])
    load.commit()
    assert rows("SELECT * FROM t") == [(1, 7, None)]


def test_types_that_travel_as_text_are_cast(loading, make, rows):
    make("CREATE TABLE t (u uuid, j jsonb, i inet, n numeric, b bit(3), s smallint)")
    load = loading("t", "u", "j", "i", "n", "b", "s")
    load.stage([("6f1c1f9e-0000-4000-8000-000000000001", '{"a": 1}', "10.0.0.1", "1.50", "101", "7")])
    load.commit()
    assert rows("SELECT u::text, j->>'a', host(i), n::text, b::text, s FROM t") == [
        ("6f1c1f9e-0000-4000-8000-000000000001", "1", "10.0.0.1", "1.50", "101", 7)
    ]


def test_a_value_too_long_for_its_type_is_refused_not_cut(loading, make, rows):
    make("CREATE TABLE t (b bit(3))")
    load = loading("t", "b")
    load.stage([("1011",)])
    with pytest.raises(Terminal, match=r"target\.value_refused"):
        load.commit()
    assert rows("SELECT * FROM t") == []


@pytest.mark.parametrize("name", ["Order", "select", 'qu"ote', "über", "a.b", "%s", "x" * 63, "né" * 21])
def test_odd_names_of_tables_and_columns_work(loading, make, conn, schema, name):
    quoted = '"' + name.replace('"', '""') + '"'
    make(f"CREATE TABLE {quoted} ({quoted} integer)")
    load = loading(name, f"{name} integer") if " " not in name else None
    load.stage([(1,)])
    assert load.commit().inserted == 1
