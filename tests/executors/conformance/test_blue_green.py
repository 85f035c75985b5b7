"""Runs that replace a table: the plan reports how the table is replaced, and refuses unsupported tables before
reading."""

from __future__ import annotations

import pytest

from executors.errors import Terminal
from tests.executors.conformance.world import World, target_of

pytestmark = [pytest.mark.spark, pytest.mark.postgres]


@pytest.fixture
def filled(world: World) -> World:
    world.sql("create table t (id int primary key, name text)")
    world.sql("insert into t values (1, 'old')")
    world.write("a", "id,name\n1,new\n2,new\n")
    return world


def test_a_view_reads_the_rows_of_the_new_table(filled: World) -> None:
    filled.sql("create view v as select * from t")
    report = filled.run(filled.document(mode="blue_green"))
    assert target_of(report).rows_inserted == 2
    assert filled.rows(table="v") == [(1, "new"), (2, "new")]
    assert f"All rows of {filled.schema}.t are to be replaced by a swap of tables." in filled.memory.lines


def test_what_a_swap_would_lose_is_reported_and_kept(filled: World) -> None:
    filled.sql("create materialized view m as select * from t")
    filled.run(filled.document(mode="blue_green"))
    filled.sql("refresh materialized view m")
    assert filled.rows(table="m") == [(1, "new"), (2, "new")]
    assert any(f"would not carry over materialized view {filled.schema}.m" in line for line in filled.memory.lines)


def test_a_table_that_cannot_be_replaced_is_refused_before_the_source_is_read(filled: World) -> None:
    filled.sql("create table child (id int references t on delete cascade)")
    filled.sql("create materialized view m as select * from t")
    with pytest.raises(Terminal) as refused:
        filled.run(filled.document(mode="blue_green"))
    assert refused.value.code == "blue_green.not_possible"
    assert [step for step, _ in filled.memory.steps] == ["start"]
    assert filled.rows() == [(1, "old")]


def test_a_second_run_goes_on_from_the_table_that_the_first_one_made(filled: World) -> None:
    for name in ("new", "newer"):
        filled.write("a", f"id,name\n1,{name}\n")
        filled.run(filled.document(mode="blue_green"))
    assert filled.rows() == [(1, "newer")]
    assert filled.run(filled.document(mode="blue_green")).nothing_new
    filled.sql("alter table t rename to renamed")
    assert filled.run({**filled.document(mode="blue_green", table="renamed")}).nothing_new
