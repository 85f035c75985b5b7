"""Runs that follow a table of another server: the target always equals the source."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tests.executors.postgres_cdc.mirror import Mirror

pytestmark = [pytest.mark.spark, pytest.mark.postgres]


def test_a_snapshot_and_the_changes_after_it_give_the_table_of_the_source(mirror: Mirror) -> None:
    mirror.at_source(
        "create table s (id int primary key, name text, price numeric(10,2), at timestamptz, flag boolean)",
        "insert into s select i, 'n' || i, i * 1.5, now(), i % 2 = 0 from generate_series(1, 100) i",
    )
    first = mirror.follow()
    assert (first.rows_inserted, first.rows_deleted) == (100, 0)
    assert mirror.difference() == []
    assert mirror.run_once().nothing_new
    mirror.at_source(
        "insert into s values (101, 'new', 1, now(), null), (102, '', null, null, true)",
        "update s set name = 'changed' where id <= 10",
        "update s set price = price + 1 where id = 1",
        "delete from s where id between 20 and 29",
    )
    then = mirror.follow()
    assert (then.rows_inserted, then.rows_updated, then.rows_deleted, then.rows_replaced) == (2, 10, 10, 1)
    assert then.rows_read == 23
    assert mirror.difference() == []
    assert mirror.run_once().nothing_new


def test_the_last_state_of_a_row_that_is_rejected_leaves_the_row_of_the_target(mirror: Mirror) -> None:
    document = mirror.pipeline(rules=[{"type": "range", "field": "price", "min": 0, "onFail": "skip"}])
    mirror.at_source(
        "create table s (id int primary key, price int)", "insert into s values (1, 1), (2, 2), (3, 3), (4, -4)"
    )
    assert mirror.follow(document).rows_rejected == 1
    mirror.at_source(
        "update s set price = -1 where id = 1",
        "update s set price = -2 where id = 2",
        "update s set price = 20 where id = 2",
        "update s set price = -3 where id = 3",
        "delete from s where id = 3",
        "update s set price = 4 where id = 4",
        "insert into s values (5, -5)",
    )
    counts = mirror.follow(document)
    assert (counts.rows_read, counts.rows_rejected, counts.rows_deleted, counts.rows_replaced) == (7, 2, 1, 2)
    assert mirror.rows("id, price") == [(1, 1), (2, 20), (4, 4)]
    # Their later changes are applied.
    mirror.at_source("update s set price = 5 where id = 5", "delete from s where id = 1")
    mirror.follow(document)
    assert mirror.rows("id, price") == [(2, 20), (4, 4), (5, 5)]


def test_a_log_without_changes_of_the_table_moves_the_state_so_that_it_can_be_removed(mirror: Mirror) -> None:
    mirror.at_source("create table s (id int primary key)", "insert into s values (1)", "create table other (t text)")
    mirror.follow()
    before = mirror.confirmed()
    mirror.at_source("insert into other values ('small')")
    assert mirror.run_once().nothing_new
    assert mirror.confirmed() == before
    mirror.at_source("insert into other select repeat(md5(i::text), 30) from generate_series(1, 30000) i")
    counts = mirror.follow()
    assert (counts.rows_read, counts.rows_loaded) == (0, 0)
    assert mirror.confirmed() > before + (16 << 20)
    mirror.at_source("delete from s")
    assert mirror.follow().rows_deleted == 1


def test_a_preview_shows_the_rows_of_the_table_and_makes_no_slot(mirror: Mirror) -> None:
    mirror.at_source(
        'create table s (id int primary key, "we""ird, %s" text)', "insert into s values (1, 'a'), (2, 'b')"
    )
    name, admin = f"reader_{mirror.source.database[:20]}", mirror.source
    mirror.at_source(f"create role {name} login password '{admin.password}'", f"grant select on s to {name}")
    mirror.source = replace(admin, user=name)
    report = mirror.preview(mirror.pipeline())
    mirror.source = admin
    assert [(effect.inserted, effect.deleted) for effect in report.effects] == [(2, 0)]
    assert mirror.confirmed() == 0
    mirror.follow()
    mirror.at_source("""update s set "we""ird, %s" = '%s' where id = 1""")
    mirror.follow()
    assert mirror.difference() == []
