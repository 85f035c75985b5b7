"""Runs that follow a table of another server: the target always equals the source."""

from __future__ import annotations

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
