"""Pages of quarantine entries: every filter uses an index, and searches are bounded."""

from __future__ import annotations

import uuid
from datetime import UTC, datetime, timedelta
from typing import Any

import psycopg
import pytest
from psycopg import sql

from executors.errors import Terminal, Transient
from executors.postgres import quarantine_pages
from executors.postgres.quarantine import ensure_quarantine
from executors.postgres.quarantine_pages import (
    Counted,
    Swept,
    count_older,
    delete_older,
    read_all,
    read_page,
)
from executors.postgres.quarantine_query import EntryOrder, EntryQuery, PageQuery
from executors.postgres.quarantined import Owner, Owners
from executors.table_name import TableName
from flowapp.embedded.processes import wait_until

TENANT = str(uuid.uuid4())
OWNER = Owner(TENANT, "orders")
ALONE = Owners(TENANT, ("orders",))
PROBE = 1
"""Ids that were used up before the first entry."""

MAKE = """
INSERT INTO {} ("pipelineId", "runId", "nodeId", "ruleId", "row", "rowId", field, message, severity, disposition,
    attempt, "targetNode", "sourceFile", "sourceRecord", "rowFrom", status, tenant)
SELECT 'orders', 'run' || i %% 3, 'check', 'rule' || i %% 4, jsonb_build_object('n', 'text ' || i), i::text,
    'f' || i %% 2,
    'm', 'skip', 'dropped', 1, 'load', 'a.csv', i, 'source',
    (ARRAY['open', 'ignored'])[1 + i %% 2], %s
FROM generate_series(1, %s) AS i"""


def connect_to_same(conn: psycopg.Connection) -> psycopg.Connection:
    return psycopg.connect(conn.info.dsn, password=conn.info.password, autocommit=True)


@pytest.fixture
def table(conn, schema) -> TableName:
    """A hundred entries of three runs, four rules and two fields."""
    name = TableName(schema, "rejected")
    ensure_quarantine(conn, str(name))
    conn.execute(MAKE.format(f"{schema}.rejected"), [TENANT, 100])
    return name


def every(conn, table, entry_query: EntryQuery, limit: int = 7, owners: Owners = ALONE) -> list[int]:
    found, after = [], None
    while True:
        page = read_page(conn, owners, table, entry_query, after, limit)
        found += [entry["sourceRecord"] for entry in page.entries]
        after = page.reached
        if after is None:
            return found


@pytest.mark.parametrize(
    ("entry_query", "fits"),
    [
        (EntryQuery(), lambda i: True),
        (EntryQuery(runs=("run1",)), lambda i: i % 3 == 1),
        (EntryQuery(runs=("run1", "run2")), lambda i: i % 3),
        (EntryQuery(runs=()), lambda i: False),
        (EntryQuery(rule="rule2"), lambda i: i % 4 == 2),
        (EntryQuery(field="f1"), lambda i: i % 2),
        (EntryQuery(status="ignored"), lambda i: i % 2),
        (EntryQuery(status="replayed"), lambda i: False),
        (EntryQuery(runs=("run0",), rule="rule3", status="ignored"), lambda i: i % 3 == 0 and i % 4 == 3),
        (EntryQuery(search="TEXT 1"), lambda i: str(i).startswith("1")),
        (EntryQuery(runs=("run1",), search="ext 1"), lambda i: i % 3 == 1 and str(i).startswith("1")),
        (EntryQuery(search="100%"), lambda i: False),
    ],
)
def test_pages_give_what_fits_once_and_newest_first(conn, table, entry_query, fits):
    wanted = [i for i in range(100, 0, -1) if fits(i)]
    assert every(conn, table, entry_query) == wanted
    assert [entry["sourceRecord"] for entry in read_all(conn, OWNER, table, entry_query)] == wanted[::-1]


def test_a_search_stops_at_its_bound_and_goes_on_from_there(conn, table, monkeypatch):
    monkeypatch.setattr(quarantine_pages, "SLICE", 30)
    page = read_page(conn, ALONE, table, EntryQuery(search="text 1"), None, 50)
    (newest,) = page.entries
    assert (newest["sourceRecord"], newest["id"] - page.reached.id) == (100, 29)
    assert every(conn, table, EntryQuery(search="text 7"), 50) == [*range(79, 69, -1), 7]


def test_what_takes_too_long_is_given_up_and_said(conn, table, monkeypatch):
    monkeypatch.setattr(quarantine_pages, "SECONDS", 1)
    with connect_to_same(conn) as other, other.transaction():
        other.execute(f"LOCK TABLE {table} IN ACCESS EXCLUSIVE MODE")
        with pytest.raises(Terminal) as caught:
            read_page(conn, ALONE, table, EntryQuery(), None, 5)
    assert caught.value.code == "errors.gave_up"


@pytest.mark.parametrize("at_once", [1000, 25, 10])
def test_old_entries_are_counted_to_the_last_one(conn, table, monkeypatch, at_once):
    monkeypatch.setattr(quarantine_pages, "COUNTED_AT_ONCE", at_once)
    later = datetime.now(UTC) + timedelta(days=1)
    assert count_older(conn, OWNER, table, EntryQuery(rule="rule1"), later) == Counted(25, is_whole=True)
    assert count_older(conn, OWNER, table, EntryQuery(), datetime(2020, 1, 1, tzinfo=UTC)) == Counted(0, is_whole=True)


def test_a_count_that_takes_too_long_reports_how_many_it_has_counted(conn, table, monkeypatch):
    later = datetime.now(UTC) + timedelta(days=1)
    with connect_to_same(conn) as other, other.transaction():
        other.execute(f"LOCK TABLE {table} IN ACCESS EXCLUSIVE MODE")
        assert count_older(conn, OWNER, table, EntryQuery(), later, 0.2) == Counted(0, is_whole=False)
    monkeypatch.setattr(quarantine_pages, "COUNTED_AT_ONCE", 10)
    ticks = iter([0, 0, 1, 1, 2, 2, 30])
    monkeypatch.setattr(quarantine_pages.time, "monotonic", lambda: next(ticks))
    assert count_older(conn, OWNER, table, EntryQuery(), later, 20) == Counted(20, is_whole=False)


def test_entries_of_others_are_not_read(conn, table):
    assert read_page(conn, Owners(str(uuid.uuid4()), ("orders",)), table, EntryQuery(), None, 5).entries == []
    assert read_page(conn, Owners(TENANT, ("returns",)), table, EntryQuery(), None, 5).entries == []


MAKE_SHARED = """
INSERT INTO {} ("pipelineId", "runId", "nodeId", "ruleId", "row", "rowId", field, message, severity, disposition,
    attempt, "targetNode", "sourceFile", "sourceRecord", "rowFrom", status, tenant)
SELECT 'p' || i %% %(pipelines)s, 'run' || i / 10, 'check', 'rule' || i %% 4, jsonb_build_object('n', 'text ' || i),
    i::text, 'f' || i %% 2, 'm', 'skip', 'dropped', 1, 'load', 'a.csv', i, 'source',
    CASE WHEN i %% 10 = 0 THEN 'ignored' ELSE 'open' END,
    CASE WHEN i %% 7 = 0 THEN gen_random_uuid() ELSE %(tenant)s END
FROM generate_series(1, %(entries)s) AS i"""


def share(conn, schema: str, pipelines: int, entries: int) -> TableName:
    """A table of several pipelines. Every seventh entry belongs to another workspace."""
    name = TableName(schema, "shared")
    ensure_quarantine(conn, str(name))
    conn.execute(MAKE_SHARED.format(f"{schema}.shared"), {"tenant": TENANT, "pipelines": pipelines, "entries": entries})
    return name


def in_order(i: int, order: EntryOrder) -> tuple[int, int]:
    group = {"rule": i % 4, "pipeline": i % 5, None: 0}[order.group]
    return -group if order.is_reversed else group, i if order.is_oldest_first else -i


@pytest.mark.parametrize("group", ["rule", "pipeline", None])
@pytest.mark.parametrize("is_reversed", [False, True])
@pytest.mark.parametrize(
    ("filters", "fits"),
    [
        ({}, lambda i: True),
        ({"status": "ignored"}, lambda i: i % 10 == 0),
        ({"rule": "rule2"}, lambda i: i % 4 == 2),
        ({"runs": ("run1", "run2", "run7")}, lambda i: i // 10 in (1, 2, 7)),
    ],
)
def test_pages_of_several_pipelines_give_each_entry_of_the_workspace_once_and_in_order(
    conn, schema, group, is_reversed, filters, fits
):
    table, order = share(conn, schema, 5, 100), EntryOrder(group, is_reversed)
    owners = Owners(TENANT, ("p0", "p1", "p2", "p4"))
    wanted = [i for i in range(1, 101) if fits(i) and i % 7 and i % 5 != 3]
    found = every(conn, table, EntryQuery(**filters, order=order), owners=owners)
    assert found == sorted(wanted, key=lambda i: in_order(i, order))


@pytest.mark.parametrize(
    "entry_query",
    [
        EntryQuery(),
        EntryQuery(status="ignored"),
        EntryQuery(status="fixed"),
        EntryQuery(rule="rule2"),
        EntryQuery(field="f1"),
        EntryQuery(runs=tuple(f"run{n}" for n in range(1000, 1050))),
        EntryQuery(order=EntryOrder(is_reversed=True)),
        EntryQuery(order=EntryOrder("rule")),
        EntryQuery(order=EntryOrder("pipeline")),
    ],
)
def test_a_page_of_many_pipelines_reads_little_of_the_table(conn, schema, entry_query):
    table = share(conn, schema, 100, 20_000)
    conn.execute(f"ANALYZE {schema}.shared")
    query = PageQuery(Owners(TENANT, tuple(f"p{n}" for n in range(100))), table, entry_query, None, 51).positions()
    ((plan,),) = conn.execute(sql.SQL("EXPLAIN (ANALYZE, FORMAT JSON) {}").format(query)).fetchone()
    assert rows_read(plan["Plan"]) < 2000


def rows_read(plan: dict[str, Any]) -> float:
    """Return the number of rows that table scans have read."""
    looked_at = plan["Actual Rows"] + plan.get("Rows Removed by Filter", 0) if "Relation Name" in plan else 0
    return looked_at * plan["Actual Loops"] + sum(map(rows_read, plan.get("Plans", [])))


def test_old_entries_go_some_at_a_time_and_no_others(conn, table, monkeypatch):
    monkeypatch.setattr(quarantine_pages, "AT_ONCE", 7)
    later, entry_query = datetime.now(UTC) + timedelta(days=1), EntryQuery(rule="rule1")
    assert delete_older(conn, OWNER, table, entry_query, datetime(2020, 1, 1, tzinfo=UTC)) == Swept(0, None)
    assert delete_older(conn, Owner(str(uuid.uuid4()), "orders"), table, entry_query, later) == Swept(0, None)
    first = delete_older(conn, OWNER, table, entry_query, later, most=10)
    assert (first.gone, first.reached) == (11, 42 + PROBE)
    assert delete_older(conn, OWNER, table, entry_query, later, after=42 + PROBE) == Swept(14, None)
    assert conn.execute(f"select count(*) from {table}").fetchone() == (75,)


def test_deleting_stops_when_its_time_is_over_and_says_where(conn, table, monkeypatch):
    monkeypatch.setattr(quarantine_pages, "AT_ONCE", 30)
    ticks = iter([0, 0, 5])
    monkeypatch.setattr(quarantine_pages.time, "monotonic", lambda: next(ticks))
    later = datetime.now(UTC) + timedelta(days=1)
    assert delete_older(conn, OWNER, table, EntryQuery(), later, until=3) == Swept(60, 60 + PROBE)
    assert conn.execute(f"select count(*) from {table}").fetchone() == (40,)


def test_whoever_stops_reading_keeps_no_snapshot(conn, table, monkeypatch):
    monkeypatch.setattr(quarantine_pages, "STALLED_SECONDS", 1)
    monkeypatch.setattr(quarantine_pages, "AT_ONCE", 10)
    with connect_to_same(conn) as reading:
        entries = read_all(reading, OWNER, table, EntryQuery())
        next(entries)
        own = "select count(*) from pg_stat_activity where pid = %s"
        assert wait_until(lambda: conn.execute(own, [reading.info.backend_pid]).fetchone() == (0,), 10)
        with pytest.raises(Transient, match="lost"):
            list(entries)


def test_whoever_reads_too_slowly_is_informed(conn, table, monkeypatch):
    monkeypatch.setattr(quarantine_pages, "EXPORT_SECONDS", -1)
    monkeypatch.setattr(quarantine_pages, "AT_ONCE", 10)
    entries = read_all(conn, OWNER, table, EntryQuery())
    assert len([next(entries) for _ in range(10)]) == 10
    with pytest.raises(Terminal, match="not all of them have been sent"):
        next(entries)
