"""Quarantine tables: made once, checked before reading, written with the load or after it failed."""

from __future__ import annotations

import uuid
from dataclasses import replace

import pytest

from executors.errors import LeaseLost, Terminal
from executors.postgres.fences import raise_fence
from executors.postgres.quarantine import count_as_loaded, count_as_not_loaded, ensure_quarantine, keep_rejects


@pytest.fixture
def dlq(schema, conn):
    """The name of a quarantine table, with its schema still to be made."""
    yield f'{schema}_dlq."My Orders"'
    conn.execute(f"DROP SCHEMA IF EXISTS {schema}_dlq CASCADE")


@pytest.fixture
def load(loading, make):
    make("CREATE TABLE t (id integer)")
    started = loading("t", "id integer")
    started.stage([(1,), (2,)])
    return started


def entries(conn, dlq, columns="*"):
    return conn.execute(f"SELECT {columns} FROM {dlq} ORDER BY id").fetchall()


def test_rejects_are_kept_in_the_transaction_of_the_load(load, conn, dlq):
    ensure_quarantine(conn, dlq)
    load.reject(
        {"record": 3}, {"record": 3, "rule_id": "r2", "severity": "warn"}, {"record": 2, "disposition": "loaded"}
    )
    counts = load.commit(quarantine={"check": dlq})
    assert (counts.quarantine_rows, counts.quarantine_entries) == (2, 3)
    stored = entries(
        conn, dlq, '"sourceRecord", "ruleId", severity, disposition, attempt, "targetNode", "sourceFile", status'
    )
    assert stored == [
        (2, "r1", "skip", "loaded", 1, "load", "rows.csv", "open"),
        (3, "r1", "skip", "dropped", 1, "load", "rows.csv", "open"),
        (3, "r2", "warn", "dropped", 1, "load", "rows.csv", "open"),
    ]
    assert entries(conn, dlq, '"pipelineId", "runId", "nodeId", "row", "rowFrom"')[0] == (
        load.run.pipeline,
        load.run.run_id,
        "check",
        {"id": ""},
        "source",
    )


def test_a_table_of_somebody_else_is_not_altered(conn, dlq):
    ensure_quarantine(conn, dlq)
    conn.execute(f"ALTER TABLE {dlq} DROP COLUMN tenant, DROP COLUMN severity")
    with pytest.raises(Terminal, match=r"quarantine\.unusable") as refused:
        ensure_quarantine(conn, dlq)
    assert "severity" in refused.value.message
    assert "tenant" in refused.value.message


def test_rejects_of_losing_tasks_are_not_kept(load, conn, dlq):
    ensure_quarantine(conn, dlq)
    load.reject({"record": 3}, task=5)
    load.reject({"record": 3}, task=6, wins=False)
    assert load.commit(quarantine={"check": dlq}).quarantine_entries == 1


def test_rejects_of_a_node_without_quarantine_are_not_kept(load, conn, dlq):
    ensure_quarantine(conn, dlq)
    load.reject({"record": 3}, {"record": 4, "node": "other"})
    assert load.commit(quarantine={"check": dlq}).quarantine_entries == 1


def test_rejects_of_a_failed_load_are_kept_as_not_loaded(load, conn, dlq):
    ensure_quarantine(conn, dlq)
    load.reject({"record": 3})
    assert keep_rejects(conn, load.run, load.tables, load.winners, {"check": dlq}) == (1, 1)
    assert entries(conn, dlq, "disposition") == [("not_loaded",)]


def test_a_later_attempt_replaces_what_an_earlier_one_kept(loading, load, conn, dlq, rows):
    ensure_quarantine(conn, dlq)
    load.reject({"record": 3}, {"record": 4})
    keep_rejects(conn, load.run, load.tables, load.winners, {"check": dlq})
    again = loading("t", "id integer", run_id=load.run.run_id, attempt=2, token=2)
    again.stage([(1,)])
    again.reject({"record": 3})
    again.commit(quarantine={"check": dlq})
    assert entries(conn, dlq, 'attempt, "sourceRecord", disposition') == [(2, 3, "dropped")]


def test_rejects_are_not_kept_as_not_loaded_after_the_commit(load, conn, dlq):
    ensure_quarantine(conn, dlq)
    load.reject({"record": 3})
    load.commit(quarantine={"check": dlq})
    assert keep_rejects(conn, load.run, load.tables, load.winners, {"check": dlq}) == (0, 0)
    assert entries(conn, dlq, "disposition") == [("dropped",)]


def test_rejects_are_not_kept_behind_a_newer_fence(load, conn, dlq):
    ensure_quarantine(conn, dlq)
    load.reject({"record": 3})
    raise_fence(conn, load.run.tenant, load.run.pipeline, "load", 2)
    with pytest.raises(LeaseLost):
        keep_rejects(conn, load.run, load.tables, load.winners, {"check": dlq})
    assert entries(conn, dlq) == []


def test_a_good_run_closes_the_entries_of_failed_ones_over_the_same_file(loading, load, conn, dlq):
    ensure_quarantine(conn, dlq)
    load.reject({"record": 3}, {"record": 4, "source_file": "other.csv"})
    keep_rejects(conn, load.run, load.tables, load.winners, {"check": dlq})
    good = loading("t", "id integer", token=2)
    good.stage([(1,)])
    good.commit(quarantine={"check": dlq})
    assert entries(conn, dlq, '"sourceRecord", status, "fixedBy"') == [
        (3, "fixed", f"run {good.run.run_id}"),
        (4, "open", None),
    ]


def test_a_good_run_leaves_the_entries_of_another_workspace_alone(loading, load, conn, dlq):
    ensure_quarantine(conn, dlq)
    load.run = replace(load.run, tenant=str(uuid.uuid4()))
    raise_fence(conn, load.run.tenant, load.run.pipeline, "load", 1)
    load.reject({"record": 3})
    keep_rejects(conn, load.run, load.tables, load.winners, {"check": dlq})
    good = loading("t", "id integer", token=2)
    good.stage([(1,)])
    good.commit(quarantine={"check": dlq})
    assert entries(conn, dlq, "status") == [("open",)]


def test_a_row_that_jsonb_does_not_take_is_kept_as_text(load, conn, dlq):
    ensure_quarantine(conn, dlq)
    load.reject({"row": '{"id": "\\u0000"}'})
    load.commit(quarantine={"check": dlq})
    assert entries(conn, dlq, '"row"') == [({"_flow_text": '{"id": "\\u0000"}'},)]


def test_the_table_is_made_once_and_not_for_the_public(conn, dlq):
    ensure_quarantine(conn, dlq)
    ensure_quarantine(conn, dlq)
    assert entries(conn, dlq) == []
    granted = conn.execute("SELECT relacl::text FROM pg_class WHERE relname = 'My Orders'").fetchone()
    assert "{=" not in str(granted)
    assert ",=" not in str(granted)
    indexes = conn.execute("SELECT indexname FROM pg_indexes WHERE tablename = 'My Orders'").fetchall()
    assert {("My Orders_all_rule_idx",), ("My Orders_rule_idx",), ("My Orders_replay_idx",)} <= set(indexes)


@pytest.mark.parametrize(
    ("definition", "says"),
    [
        ('id bigserial, "pipelineId" text, "row" jsonb', "no column 'rowId'"),
        ("id integer", "'id' is integer, not bigint"),
    ],
)
def test_a_table_of_another_shape_is_refused_by_what_it_lacks(conn, make, schema, definition, says):
    make(f"CREATE TABLE other ({definition})")
    with pytest.raises(Terminal, match=says) as raised:
        ensure_quarantine(conn, f"{schema}.other")
    assert raised.value.code == "quarantine.unusable"


def test_a_table_that_refuses_rows_is_found_out_before_the_read(conn, make, schema, dlq):
    ensure_quarantine(conn, dlq)
    conn.execute(f"ALTER TABLE {dlq} ADD COLUMN owner text NOT NULL")
    with pytest.raises(Terminal, match="owner") as raised:
        ensure_quarantine(conn, dlq)
    assert raised.value.code == "quarantine.unusable"
    assert entries(conn, dlq) == []


@pytest.mark.parametrize("name", ["orders", "a.b.c", ""])
def test_a_name_that_is_no_table_is_refused(conn, name):
    with pytest.raises(Terminal, match=r"table\.name_unreadable"):
        ensure_quarantine(conn, name)


def test_a_load_that_counts_again_has_dropped_what_another_of_its_tables_says_it_has(load, conn, dlq, schema):
    tables = [dlq, f"{schema}_dlq.second"]
    for table in tables:
        ensure_quarantine(conn, table)
    load.reject({"record": 3, "severity": "warn"}, {"record": 3, "node": "second"})
    load.reject({"record": 2, "severity": "warn", "disposition": "loaded"})
    load.commit(quarantine=dict(zip(("check", "second"), tables, strict=True)))
    before = [entries(conn, table, '"sourceRecord", disposition') for table in tables]
    count_as_not_loaded(conn, load.run, [load.run.run_id], tables)
    assert {row for (row,) in entries(conn, dlq, "disposition")} == {"not_loaded"}
    count_as_loaded(conn, load.run, [load.run.run_id], tables)
    assert [entries(conn, table, '"sourceRecord", disposition') for table in tables] == before
    assert before == [[(2, "loaded"), (3, "dropped")], [(3, "dropped")]]
