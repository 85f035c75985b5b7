"""The guarantees of upsert."""

from __future__ import annotations

import pytest

from executors.errors import Failure
from tests.executors.conformance.world import World, reconciles, target_of

pytestmark = [pytest.mark.spark, pytest.mark.postgres]


def test_the_last_row_of_a_key_in_source_order_wins_every_time(world: World) -> None:
    world.sql("create table t (id int primary key, name text)")
    world.write("a", "id,name\n1,a\n1,b\n2,c\n")
    world.write("b", "id,name\n2,d\n")
    report = world.run(world.document(mode="upsert"))
    assert world.rows() == [(1, "b"), (2, "d")]
    assert (target_of(report).rows_replaced, target_of(report).rows_inserted) == (2, 2)
    assert reconciles(report)


def test_changed_rows_are_updated_and_equal_rows_left_alone(world: World) -> None:
    world.sql("create table t (id int primary key, name text); insert into t values (1, 'a'), (2, 'b')")
    world.write("a", "id,name\n1,a\n2,B\n3,c\n")
    report = world.run(world.document(mode="upsert"))
    assert world.rows() == [(1, "a"), (2, "B"), (3, "c")]
    t = target_of(report)
    assert (t.rows_inserted, t.rows_updated, t.rows_unchanged) == (1, 1, 1)


def test_null_and_a_value_are_different(world: World) -> None:
    world.sql("create table t (id int primary key, name text); insert into t values (1, null), (2, 'b')")
    world.write("a", "id,name\n1,a\n2,\n")
    report = world.run(world.document(mode="upsert"))
    assert world.rows() == [(1, "a"), (2, None)]
    assert target_of(report).rows_updated == 2


@pytest.mark.parametrize(
    "unusable",
    [
        "select 1",
        "create unique index on t (id) where name is not null",
        "alter table t add unique (id) deferrable",
        "create unique index on t (abs(id))",
        "alter table t add unique (id, name)",
    ],
)
def test_a_key_without_a_usable_unique_index_is_refused_with_the_ddl_that_fixes_it(world: World, unusable: str) -> None:
    world.sql("create table t (id int, name text)")
    world.sql(unusable)
    world.write("a", "id,name\n1,a\n")
    with pytest.raises(Failure) as stopped:
        world.run(world.document(mode="upsert"))
    assert stopped.value.code == "upsert.key_not_unique"
    assert "UNIQUE" in stopped.value.hint.upper()
    assert ("pass", "load") not in world.memory.steps
    assert world.rows() == []


def test_a_trigger_that_swallows_rows_is_counted_and_reported(world: World) -> None:
    world.sql("""
        create table t (id int primary key, name text);
        create function swallow() returns trigger language plpgsql as
            $$begin if new.name = 'no' then return null; end if; return new; end$$;
        create trigger s before insert or update on t for each row execute function swallow()""")
    world.write("a", "id,name\n1,yes\n2,no\n")
    report = world.run(world.document(mode="upsert"))
    assert world.rows("id") == [(1,)]
    assert target_of(report).rows_suppressed == 1
    assert "rows.suppressed" in [w.code for w in report.warnings]
    assert reconciles(report)


def test_rows_of_a_table_with_the_same_key_stop_the_load_and_are_named(world: World) -> None:
    world.sql("create table s (id int, at int, name text); insert into s values (1, 2, 'b'), (1, 1, 'a'), (2, 1, 'c')")
    world.sql("create table t (id int primary key, at int, name text)")
    with pytest.raises(Failure) as stopped:
        world.run(world.table_document(mode="upsert"))
    assert (stopped.value.code, stopped.value.node) == ("upsert.key_repeated", "load")
    assert f"{world.schema}.s record 1, 2" in stopped.value.message
    assert world.rows() == []


@pytest.mark.parametrize("field", ["orderBy", "watermarkColumn"])
def test_the_last_row_of_a_key_by_the_column_that_orders_wins(world: World, field: str) -> None:
    world.sql("create table s (id int, at int, name text)")
    world.sql("insert into s values (1, 2, 'b'), (1, 1, 'a'), (1, null, 'x'), (2, 1, 'c')")
    world.sql("create table t (id int primary key, at int, name text)")
    report = world.run(world.table_document(mode="upsert", **{field: "at"}))
    assert world.rows() == [(1, 2, "b"), (2, 1, "c")]
    assert (target_of(report).rows_replaced, reconciles(report)) == (2, True)


def test_files_can_be_ordered_by_a_column_too(world: World) -> None:
    world.sql("create table t (id int primary key, at numeric, name text)")
    world.write("a", "id,at,name\n1,10,b\n1,9,a\n")
    world.run(world.document(mode="upsert", orderBy="at"))
    assert world.rows("id, name") == [(1, "b")]


def test_an_order_by_a_column_that_does_not_come_is_refused_before_the_source_is_read(world: World) -> None:
    world.sql("create table t (id int primary key, at int, name text)")
    world.write("a", "id,name\n1,b\n")
    with pytest.raises(Failure) as stopped:
        world.run(world.document(mode="upsert", orderBy="at"))
    assert stopped.value.code == "upsert.order_unknown"
    assert ("pass", "load") not in world.memory.steps


def test_an_order_by_a_column_without_an_order_is_refused_before_the_source_is_read(world: World) -> None:
    world.sql("create table t (id int primary key, at json, name text)")
    world.write("a", "id,at,name\n1,{},b\n")
    with pytest.raises(Failure) as stopped:
        world.run(world.document(mode="upsert", orderBy="at"))
    assert stopped.value.code == "upsert.order_unordered"
    assert ("pass", "load") not in world.memory.steps


def test_an_older_row_of_a_later_load_is_not_loaded_and_reported_like_in_the_preview(world: World) -> None:
    world.sql("create table t (id int primary key, at int, name text); insert into t values (1, 5, 'five')")
    world.write("a", "id,at,name\n1,4,older\n1,3,oldest\n2,1,new\n")
    preview = world.preview(world.document(mode="upsert", orderBy="at"))
    report = world.run(world.document(mode="upsert", orderBy="at"))
    assert world.rows() == [(1, 5, "five"), (2, 1, "new")]
    for reported in (preview, report):
        assert reconciles(reported)
        t = target_of(reported)
        assert (t.rows_read, t.rows_replaced, t.rows_suppressed, t.rows_loaded) == (3, 1, 1, 1)
        assert [w.code for w in reported.warnings] == ["rows.older"]
