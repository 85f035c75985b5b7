"""Rows that only the INSERT refuses, through whole runs."""

from __future__ import annotations

import pytest

from executors.errors import Terminal
from tests.executors.conformance.world import World, reconciles, target_of
from tests.executors.row_modes import ROW_MODES

pytestmark = [pytest.mark.spark, pytest.mark.postgres]

PARTITIONED = """
    create table t (id int primary key, name text) partition by range (id);
    create table t1 partition of t for values from (1) to (100)"""
TRIGGER = """
    create table t (id int primary key, name text);
    create function look() returns trigger language plpgsql as
        'begin if new.id > 99 then raise exception $a$too high$a$; end if; return new; end';
    create trigger look before insert on t for each row execute function look()"""
ROWS = [{"id": 1, "name": "Ann"}, {"id": 300, "name": "Bob"}, {"id": 2, "name": "Zoe"}]
CHECK = {"rowCount": {"min": 2, "onFail": "abort"}}


def write(world: World, rows: list[dict[str, object]]) -> None:
    world.write("rows.csv", "id,name\n" + "".join(f"{row['id']},{row['name']}\n" for row in rows))


@pytest.mark.parametrize("mode", [mode for mode in ROW_MODES if mode != "blue_green"])
@pytest.mark.parametrize("table", [PARTITIONED, TRIGGER], ids=["partitioned", "trigger"])
def test_they_are_skipped_and_kept(world: World, mode: str, table: str) -> None:
    world.sql(table)
    write(world, ROWS)
    report = world.run(world.document(mode=mode, onTypeMismatch="skip"))
    assert world.rows() == [(1, "Ann"), (2, "Zoe")]
    assert world.sql('select "sourceRecord", severity, disposition from rejected') == [(2, "skip", "dropped")]
    assert (target_of(report).rows_rejected, reconciles(report)) == (1, True)


def test_they_stop_a_load_that_skips_none_and_are_named(world: World) -> None:
    world.sql(PARTITIONED)
    write(world, ROWS)
    with pytest.raises(Terminal, match=r"it fits no partition\. Rows: in/rows\.csv record 2"):
        world.run(world.document())
    assert world.rows() == []


def test_checks_look_at_the_rows_that_are_left(world: World) -> None:
    world.sql(PARTITIONED)
    write(world, ROWS[:2])
    with pytest.raises(Terminal, match=r"check\.failed|rowCount"):
        world.run(world.document(onTypeMismatch="skip", checks=CHECK))
    assert world.rows() == []
