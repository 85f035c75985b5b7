"""The op deduplicate: one row of each key, always the same one, and every row is counted."""

from __future__ import annotations

from typing import Any

import pytest

from executors.errors import Terminal
from tests.executors.conformance.world import World, reconciles, target_of

pytestmark = [pytest.mark.spark, pytest.mark.postgres]

TABLE = "create table t (id text, at int, name text)"
AT = {"name": "at", "type": "integer"}


def once(**op: Any) -> dict[str, Any]:
    return {"op": "deduplicate", "keys": ["id"], **op}


def test_the_last_row_of_a_key_in_source_order_stays_and_the_others_are_filtered(world: World) -> None:
    world.sql(TABLE)
    world.write("a", "id,at,name\n1,9,a\n2,1,b\n1,5,c\n,1,d\n")
    world.write("b", "id,at,name\n2,0,e\n,2,f\n")
    report = world.run(world.document(ops=[once()]))
    assert world.rows("id, at, name") == [("1", 5, "c"), ("2", 0, "e"), (None, 2, "f")]
    assert (target_of(report).rows_read, target_of(report).rows_filtered, reconciles(report)) == (6, 3, True)
    assert [(node.id, node.rows_in, node.rows_out) for node in report.nodes][:2] == [("src", 6, 6), ("shape", 6, 3)]


def test_a_column_may_say_which_row_is_the_last(world: World) -> None:
    world.sql(TABLE)
    world.write("a", "id,at,name\n1,9,a\n1,10,b\n1,,c\n2,,d\n3,1,e\n3,1,f\n")
    world.run(world.document(ops=[once(orderBy="at")], columns=[AT]))
    assert world.rows("id, name") == [("1", "b"), ("2", "d"), ("3", "f")]


def test_filtered_rows_are_not_the_last_of_their_key(world: World) -> None:
    world.sql(TABLE)
    world.write("a", "id,at,name\n1,1,a\n1,2,gone\n2,3,gone\n")
    report = world.run(world.document(ops=[{"op": "filter", "where": "name <> 'gone'"}, once()], columns=[AT]))
    assert world.rows("id, name") == [("1", "a")]
    assert (target_of(report).rows_filtered, reconciles(report)) == (2, True)


def test_a_filter_behind_it_sees_the_rows_that_stayed(world: World) -> None:
    world.sql(TABLE)
    world.write("a", "id,at,name\n1,1,a\n1,2,b\n2,3,c\n")
    ops = [once(), {"op": "derive", "columns": {"name": "upper(name)"}}, {"op": "filter", "where": "at < 3"}]
    world.run(world.document(ops=ops, columns=[AT]))
    assert world.rows("id, name") == [("1", "B")]


def test_bad_rows_are_rejected_and_never_taken_for_repeats(world: World) -> None:
    world.sql(TABLE)
    world.write("a", "id,at,name\n1,x,a\n1,y,b\n1,3,c\nshort\n")
    rules = [{"type": "notNull", "field": "id", "onFail": "skip"}]
    report = world.run(world.document(ops=[once(orderBy="at")], columns=[AT], onTypeMismatch="skip", rules=rules))
    assert world.rows("id, name") == [("1", "c")]
    assert (target_of(report).rows_rejected, reconciles(report)) == (3, True)
    assert sorted(world.sql('select "sourceRecord", "rowFrom" from rejected')) == [
        (1, "source"),
        (2, "source"),
        (4, "source"),
    ]


def test_every_type_passes_the_shuffle_as_it_is(world: World) -> None:
    world.sql("""
        create table s as select 1 as id, 2.50::numeric(8,3) as d, '2024-02-29'::date as day, true as ok,
            7::bigint as big, '2024-02-29 10:00:00.5'::timestamp as ts, '2024-02-29 10:00:00.5+02'::timestamptz as tz,
            '10:00:01'::time as clock, 0.1::real as r, 'NaN'::float8 as f, '\\xff00'::bytea as b,
            '{"a": [1]}'::jsonb as j, 123456789012345678901234567890.5::numeric as n""")
    world.sql("insert into s select 2, s.d from s")
    world.run(world.table_document(ops=[once(orderBy="ts")]))
    columns = "id, d, day, ts, tz, clock, r, f, b, j, n, ok, big"
    both = [world.sql(f"select s::text from (select {columns} from {table}) s order by 1") for table in ("s", "t")]
    assert both[0] == both[1]


def test_an_order_that_spark_cannot_know_is_refused(world: World) -> None:
    world.sql("create table s (id int, n numeric)")
    with pytest.raises(Terminal) as stopped:
        world.run(world.table_document(ops=[once(orderBy="n")]))
    assert (stopped.value.code, stopped.value.node) == ("deduplicate.order_type", "shape")


TIED = "create table s (id int, at int, name text, batch int)"


def test_rows_of_a_database_that_are_equally_last_and_differ_stop_the_run_and_are_kept(world: World) -> None:
    world.sql(TABLE)
    world.sql(TIED)
    world.sql("insert into s values (1, 5, 'a', 1), (1, 5, 'b', 1), (1, 4, 'c', 1), (2, 7, 'd', 1), (3, null, 'e', 1)")
    world.sql("insert into s values (3, null, 'f', 1), (4, 1, 'g', 1), (4, 1, 'h', 1), (4, 2, 'i', 1)")
    with pytest.raises(Terminal) as stopped:
        world.run(world.table_document(ops=[once(orderBy="at"), {"op": "drop", "columns": ["batch"]}]))
    assert (stopped.value.code, stopped.value.node) == ("rule.abort", "shape")
    assert "none of them is the last" in stopped.value.message
    assert "orderBy" in stopped.value.hint
    assert world.rows() == []
    rejected = world.sql("""select row ->> 'name', "ruleId" from rejected order by 1""")
    assert rejected == [(name, "order:at") for name in "abef"]


def test_tied_rows_that_are_equal_in_what_is_left_of_them_are_one(world: World) -> None:
    world.sql(TABLE)
    world.sql(TIED)
    world.sql("insert into s values (1, 5, 'a', 1), (1, 5, 'a', 2), (2, 6, 'b', 1), (2, 7, 'c', 1), (2, 7, 'gone', 1)")
    ops = [{"op": "drop", "columns": ["batch"]}, {"op": "filter", "where": "name <> 'gone'"}, once(orderBy="at")]
    report = world.run(world.table_document(ops=ops))
    assert world.rows("id, name") == [("1", "a"), ("2", "c")]
    assert (target_of(report).rows_filtered, reconciles(report)) == (3, True)


def test_an_order_before_it_may_decide_between_tied_rows(world: World) -> None:
    world.sql(TABLE)
    world.sql(TIED)
    world.sql("insert into s values (1, 5, 'a', 1), (1, 5, 'b', 2)")
    last = {"op": "deduplicate", "keys": ["id", "at"], "orderBy": "batch"}
    ops = [last, once(orderBy="at"), {"op": "drop", "columns": ["batch"]}]
    world.run(world.table_document(ops=ops))
    assert world.rows("id, name") == [("1", "b")]
