"""Files without columns: blank files load no row and make no table; unreadable records are quarantined."""

from __future__ import annotations

from typing import Any

import pytest

from executors.errors import Terminal
from tests.executors.conformance.world import World, reconciles, target_of

pytestmark = [pytest.mark.spark, pytest.mark.postgres, pytest.mark.every_connector]

BLANK = {
    "array": ("json", b"[]"),
    "csv": ("csv", b""),
    "jsonl": ("jsonl", b""),
    "lines": ("csv", b"\n\n\n"),
    "json lines": ("jsonl", b"\n\n"),
}
BAD = {
    "array in a line": ("jsonl", b'[{"id":"1"}]\n'),
    "two on a line": ("jsonl", b'{"id":"1"} {"id":"2"}\n'),
    "numbers": ("json", b"[5]"),
}
DECLARED = [{"name": "id", "type": "integer"}]


def table_of(world: World) -> Any:
    return world.sql("select to_regclass('t')::text")[0][0]


@pytest.mark.parametrize("columns", [None, DECLARED], ids=["observed", "declared"])
@pytest.mark.parametrize("blank", BLANK)
def test_a_blank_file_loads_no_row_says_so_and_makes_no_table(world: World, blank: str, columns: Any) -> None:
    format, content = BLANK[blank]
    world.write("a", content)
    report = world.run(world.document(format=format, columns=columns, ops=[{"op": "trim", "columns": ["id"]}]))
    assert [(warning.code, warning.message) for warning in report.warnings] == [
        ("source.blank", f"No rows and no columns: {world.shown('a')}.")
    ]
    assert (target_of(report).rows_loaded, target_of(report).rows_read, reconciles(report)) == (0, 0, True)
    assert table_of(world) is None


@pytest.mark.parametrize("blank", BLANK)
def test_a_blank_file_beside_others_is_named_once(world: World, blank: str) -> None:
    format, content = BLANK[blank]
    rows = {"csv": "id\n1\n", "json": '[{"id": "1"}]', "jsonl": '{"id": "1"}\n'}
    world.write("a", content)
    world.write("b", rows[format])
    report = world.run(world.document(format=format))
    assert [(warning.code, warning.message) for warning in report.warnings] == [
        ("source.blank", f"No rows and no columns: {world.shown('a')}.")
    ]
    assert (world.rows("id"), reconciles(report)) == ([("1",)], True)
    later = world.run(world.document(format=format))
    assert (later.nothing_new, later.warnings) == (True, [])


@pytest.mark.parametrize("mode", ["append", "upsert", "incremental_watermark"])
def test_a_blank_file_leaves_a_table_as_it_is(world: World, mode: str) -> None:
    world.sql("create table t (id int primary key, n int generated always as identity, name text not null)")
    world.sql("insert into t values (1, default, 'Ann')")
    world.write("a", "")
    report = world.run(world.document(mode=mode))
    assert (target_of(report).rows_loaded, reconciles(report)) == (0, True)
    assert world.rows("id, name") == [(1, "Ann")]
    assert world.run(world.document(mode=mode)).nothing_new


@pytest.mark.parametrize("guard", [True, False])
def test_a_blank_file_clears_a_table_only_when_it_may(world: World, guard: bool) -> None:
    world.sql("create table t (id int primary key); insert into t values (1)")
    world.write("a", "")
    document = world.document(mode="truncate", failOnEmptySource=guard)
    if guard:
        with pytest.raises(Terminal, match=r"source\.empty"):
            world.run(document)
    else:
        world.run(document)
    assert world.rows() == ([(1,)] if guard else [])


@pytest.mark.parametrize("bad", BAD)
@pytest.mark.parametrize("columns", [None, DECLARED], ids=["observed", "declared"])
def test_records_of_which_none_can_be_read_are_kept_and_fail_the_load(world: World, bad: str, columns: Any) -> None:
    format, content = BAD[bad]
    world.write("a", content)
    with pytest.raises(Terminal) as stopped:
        world.run(world.document(format=format, columns=columns))
    assert stopped.value.code == "rows.too_many_rejected"
    assert world.sql('select "ruleId", disposition from rejected') == [("row", "not_loaded")]
    assert table_of(world) is None
    report = stopped.value.report
    assert report is not None
    assert (target_of(report).rows_read, target_of(report).rows_rejected, reconciles(report)) == (1, 1, True)


def test_an_object_without_a_field_is_no_row(world: World) -> None:
    world.write("a", "{}\n")
    with pytest.raises(Terminal, match=r"source\.no_columns"):
        world.run(world.document(format="jsonl"))
    assert table_of(world) is None


def test_the_preview_of_a_blank_file_changes_nothing(world: World) -> None:
    world.write("a", "[]")
    assert world.preview(world.document(format="json")).nothing_new
