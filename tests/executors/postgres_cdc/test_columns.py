"""Columns that change at the source: at their position of the log, by the policy of the source, or refused."""

from __future__ import annotations

import pytest

from executors.errors import Failure
from tests.executors.postgres_cdc.mirror import Mirror
from tests.executors.postgres_cdc.test_refusals import forget

pytestmark = [pytest.mark.spark, pytest.mark.postgres]

EVOLVE = {"schemaPolicy": "evolve"}


def test_a_new_column_is_added_at_its_position_of_the_log(mirror: Mirror) -> None:
    document = mirror.pipeline(node=EVOLVE)
    mirror.at_source(
        "create table s (id int primary key, name text)", "insert into s values (1, 'a'), (2, 'b'), (3, 'c')"
    )
    mirror.follow(document)
    mirror.at_source(
        "update s set name = 'before' where id = 1",
        "alter table s add column note text",
        "update s set note = 'after' where id = 1",
        "insert into s values (4, 'd', 'new')",
        "alter table s alter column id type bigint",
        "update s set name = 'wide' where id = 2",
        "alter table s drop column name",
        "insert into s values (5000000000, 'last')",
    )
    shapes = 0
    while not (report := mirror.run_once(document)).nothing_new:
        shapes += 1
        assert report.nodes[-1].rows_read
    assert shapes == 4
    assert mirror.difference() == []
    assert mirror.rows("id, name")[:2] == [(1, "before"), (2, "wide")]


def test_a_new_column_is_refused_without_a_policy_and_nothing_is_lost(mirror: Mirror) -> None:
    mirror.at_source("create table s (id int primary key, name text)", "insert into s values (1, 'a')")
    mirror.follow()
    mirror.at_source("alter table s add column note text", "insert into s values (2, 'b', 'c')")
    with pytest.raises(Failure) as refused:
        mirror.run_once()
    assert refused.value.code == "target.column_unknown"
    mirror.follow(mirror.pipeline(node=EVOLVE))
    assert mirror.difference() == []


@pytest.mark.parametrize(
    "column", ["text not null default 'x'", "int default 7", "timestamptz default clock_timestamp()"]
)
def test_a_new_column_with_values_in_old_rows_needs_all_rows_again(mirror: Mirror, column: str) -> None:
    document = mirror.pipeline(node=EVOLVE)
    mirror.at_source("create table s (id int primary key)", "insert into s values (1), (2)")
    mirror.follow(document)
    mirror.at_source(f"alter table s add column c {column}", "insert into s values (3)")
    mirror.at_source("alter table s alter column c drop default" if column.startswith("int") else "select")
    with pytest.raises(Failure) as refused:
        mirror.run_once(document)
    assert refused.value.code == "cdc.column_filled"
    assert mirror.rows("id") == [(1,), (2,)]
    forget(mirror)
    mirror.follow(document)
    assert mirror.difference() == []


@pytest.mark.parametrize(
    "change",
    [
        pytest.param("alter table s rename b to c", id="renamed"),
        pytest.param("alter table s drop b, add b int", id="replaced"),
        pytest.param(
            "alter table s rename a to t; alter table s rename b to a; alter table s rename t to b", id="swapped"
        ),
    ],
)
def test_a_column_under_the_name_of_another_one_needs_all_rows_again(mirror: Mirror, change: str) -> None:
    document = mirror.pipeline(node=EVOLVE)
    mirror.at_source("create table s (id int primary key, a int, b int)", "insert into s values (1, 10, 20)")
    mirror.follow(document)
    mirror.at_source(change, "insert into s values (2, 30, 40)")
    with pytest.raises(Failure) as refused:
        mirror.run_once(document)
    assert refused.value.code == "cdc.column_replaced"
    assert mirror.rows("id, a, b") == [(1, 10, 20)]


def test_a_column_that_comes_back_after_a_load_without_it_needs_all_rows_again(mirror: Mirror) -> None:
    document = mirror.pipeline(node=EVOLVE)
    mirror.at_source("create table s (id int primary key, a int)", "insert into s values (1, 10)")
    mirror.follow(document)
    mirror.at_source("alter table s drop a", "insert into s values (2)")
    mirror.follow(document)
    mirror.at_source("alter table s add a int", "insert into s values (3, 30)")
    with pytest.raises(Failure) as refused:
        mirror.run_once(document)
    assert refused.value.code == "cdc.column_replaced"


def test_columns_that_change_between_changes_of_one_transaction_are_refused(mirror: Mirror) -> None:
    document = mirror.pipeline(node=EVOLVE)
    mirror.at_source("create table s (id int primary key)", "insert into s values (1)")
    mirror.follow(document)
    mirror.at_source("insert into s values (2)")
    mirror.at_source("begin; insert into s values (3); alter table s add c int; insert into s values (4, 4); commit")
    assert mirror.follow(document).rows_inserted == 1
    with pytest.raises(Failure) as refused:
        mirror.run_once(document)
    assert refused.value.code == "cdc.columns_changed_inside"
    assert mirror.rows("id") == [(1,), (2,)]


def test_a_key_that_changes_is_refused(mirror: Mirror) -> None:
    mirror.at_source("create table s (id int primary key, other int not null unique)", "insert into s values (1, 1)")
    mirror.follow()
    mirror.at_source(
        "update s set other = 2", "alter table s replica identity using index s_other_key", "delete from s"
    )
    with pytest.raises(Failure) as refused:
        mirror.run_once()
    assert refused.value.code.startswith("cdc.key")


def test_renamed_and_dropped_columns_in_transforms(mirror: Mirror) -> None:
    ops = [
        {"op": "rename", "columns": {"id": "key", "big": "large"}},
        {"op": "drop", "columns": ["secret"]},
        {"op": "derive", "columns": {"twice": "n * 2"}},
        {"op": "derive", "columns": {"length": "length(large)"}},
    ]
    document = mirror.pipeline(ops=ops)
    large = "(select string_agg(md5(random()::text || i::text), '') from generate_series(1, 100) i)"
    mirror.at_source(
        "create table s (id int primary key, big text, n int, secret text)",
        f"insert into s select i, {large}, i, 'x' from generate_series(1, 9) i",
    )
    mirror.follow(document)
    mirror.at_source(
        "update s set n = 100 where id < 4", "update s set id = 50 where id = 5", "delete from s where id = 6"
    )
    with pytest.raises(Failure) as refused:
        mirror.run_once(document)
    assert refused.value.code == "cdc.value_missing"
    plain = mirror.pipeline(ops=ops[:3])
    mirror.follow(plain)
    assert [row[0] for row in mirror.rows("key")] == [1, 2, 3, 4, 7, 8, 9, 50]
    assert mirror.sql("select count(*) from t where large is null") == [(0,)]
