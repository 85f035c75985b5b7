"""Rejected rows with copies elsewhere: in the source, in the table, in later runs. A replay loads no row twice, and
does not replace a newer row by an older one.
"""

from __future__ import annotations

from typing import Any

import pytest

from executors.errors import Failure, Terminal
from executors.model import BackupRef
from executors.runs.restore import restore_pipeline
from tests.executors.conformance.test_replays import NOT_NULL, ROWS, fix, ids, recheck, replay, states
from tests.executors.conformance.world import World, reconciles

pytestmark = [pytest.mark.spark, pytest.mark.postgres]

INCREMENTAL: Any = {"mode": "incremental_watermark"}
LAST_OF_ID = {"op": "deduplicate", "keys": ["id"], "orderBy": "at"}


@pytest.mark.parametrize("how", [replay, recheck])
@pytest.mark.parametrize("mode", ["append", "truncate", "blue_green"])
def test_rows_of_which_an_op_keeps_one_are_not_replayed_alone(world: World, mode: str, how: Any) -> None:
    world.sql("create table t (id int, at int, name text)")
    world.write("a.csv", "id,at,name\n1,1,\n1,2,Ann\n2,1,\n")
    world.run(world.document(mode=mode, rules=[NOT_NULL], ops=[{"op": "trim", "columns": ["name"]}]))
    with pytest.raises(Terminal) as refused:
        how(world, world.document(mode=mode, ops=[LAST_OF_ID]))
    assert (refused.value.code, refused.value.node) == ("replay.deduplicates", "shape")
    assert len(world.rows()) == 1
    assert states(world) == [("open", None, None)] * 2


def test_they_are_replayed_where_the_key_keeps_out_what_the_op_would_drop(world: World) -> None:
    world.sql("create table t (id int primary key, at int, name text)")
    world.write("a.csv", "id,at,name\n1,2,Ann\n1,1,x,y\n2,1,\n")
    document = world.document(mode="upsert", ops=[LAST_OF_ID])
    world.run(world.document(mode="upsert", ops=[LAST_OF_ID], rules=[NOT_NULL]))
    fix(world, id="1", at="1", name="Older")
    assert replay(world, document).row_counts == {"exists": 1, "loaded": 1}
    assert world.rows() == [(1, 2, "Ann"), (2, 1, None)]


@pytest.mark.parametrize(
    "ops",
    [
        [LAST_OF_ID, {"op": "derive", "columns": {"id": "id + 1"}}],
        [LAST_OF_ID, {"op": "rename", "columns": {"id": "no", "at": "id"}}],
        [{**LAST_OF_ID, "keys": ["name"]}],
        [LAST_OF_ID, {"op": "filter", "where": "name <> 'gone'"}],
        [LAST_OF_ID, {"op": "sql", "query": "SELECT * FROM input WHERE name <> 'gone'"}],
    ],
)
def test_a_key_that_is_made_of_something_else_keeps_nothing_out(world: World, ops: list[dict[str, Any]]) -> None:
    world.sql("create table t (id int primary key, at int, name text)")
    world.write("a.csv", "id,at,name\n1,1,\n")
    world.run(world.document(mode="upsert", rules=[NOT_NULL], failAtRejectedPct=0))
    with pytest.raises(Terminal, match="keeps one row of each"):
        replay(world, world.document(mode="upsert", ops=ops))


def test_a_row_of_a_key_whose_last_row_is_filtered_is_not_replayed(world: World) -> None:
    world.sql("create table t (id int primary key, at int, name text)")
    world.write("a.csv", "id,at,name\n1,x,Ann\n1,2,gone\n2,1,Bob\n")
    typed = {"op": "cast", "columns": {"at": "integer"}}
    ops = [typed, LAST_OF_ID, {"op": "filter", "where": "name <> 'gone'"}]
    document = world.document(mode="upsert", ops=ops, onTypeMismatch="skip")
    world.run(document)
    fix(world, at="1")
    with pytest.raises(Terminal, match="keeps one row of each"):
        replay(world, document)
    assert world.rows("id") == [(2,)]


def test_equal_numbers_that_become_different_texts_are_not_replayed(world: World) -> None:
    world.sql("create table t (id text primary key, at int)")
    world.write("a.csv", "id,at\n-0,x\n0,2\n")
    types = [{"name": "id", "type": "float"}, {"name": "at", "type": "integer"}]
    ops = [LAST_OF_ID, {"op": "cast", "columns": {"id": "string"}}]
    document = world.document(mode="upsert", columns=types, ops=ops, onTypeMismatch="skip")
    world.run(document)
    fix(world, at="1")
    with pytest.raises(Terminal, match="keeps one row of each"):
        replay(world, document)
    assert world.rows() == [("0", 2)]


def test_a_key_that_is_trimmed_filled_and_cast_behind_the_op_keeps_out_what_the_op_would_drop(world: World) -> None:
    world.sql("create table t (id int primary key, at int, name text)")
    world.write("a.csv", "id,at,name\n 7 ,x,Older\n 7 ,2,Ann\n,y,Other\n,3,None\n")
    shaped = [
        {"op": "trim", "columns": ["id"]},
        {"op": "fillNull", "columns": {"id": "0"}},
        {"op": "cast", "columns": {"id": "integer"}},
    ]
    typed = {"op": "cast", "columns": {"at": "integer"}}
    document = world.document(mode="upsert", ops=[typed, LAST_OF_ID, *shaped], onTypeMismatch="skip")
    world.run(document)
    fix(world, at="1")
    assert replay(world, document).row_counts == {"exists": 1, "fails": 1}
    assert world.rows() == [(0, 3, "None"), (7, 2, "Ann")]


def test_a_row_that_the_table_refused_has_been_through_the_op(world: World) -> None:
    world.sql("create table t (id int check (id < 10), at int)")
    world.write("a.csv", "id,at\n11,1\n11,2\n")
    document = world.document(
        ops=[{"op": "cast", "columns": {"at": "integer"}}, LAST_OF_ID], onTypeMismatch="skip", failAtRejectedPct=0
    )
    world.run(document)
    world.sql("alter table t drop constraint t_id_check")
    assert replay(world, document, row_from="input").row_counts == {"loaded": 1}
    assert world.rows() == [(11, 2)]


def test_a_ticked_row_does_not_take_the_place_of_a_newer_one(world: World) -> None:
    world.sql("create table t (id int primary key, at int, name text)")
    world.write("a.csv", "id,at,name\n1,1,\n2,9,\n3,,\n4,1,\n")
    document = world.document(mode="upsert", orderBy="at")
    world.run(world.document(mode="upsert", orderBy="at", rules=[NOT_NULL], failAtRejectedPct=0))
    world.sql("insert into t values (1, 5, 'Newer'), (2, 5, 'Older'), (3, 5, 'Newer'), (4, null, 'Older')")
    assert recheck(world, document).row_counts == {"older": 2, "exists": 2}
    names = frozenset(f"{run}:{row}" for run, row in world.sql('select "runId", "rowId" from rejected'))
    report = replay(world, document, overwrite=names)
    assert report.row_counts == {"older": 2, "loaded": 2}
    assert reconciles(report)
    assert world.rows() == [(1, 5, "Newer"), (2, 9, None), (3, 5, "Newer"), (4, 1, None)]


@pytest.fixture
def boundary_rows(world: World) -> World:
    """A run has loaded a row, and rejected another one with the value of the watermark. Each run reads both again."""
    world.sql("create table t (id int, name text)")
    world.sql("create table s (id int, name text)")
    world.sql("insert into s values (3, null), (3, 'Cy')")
    world.run(world.table_document(rules=[NOT_NULL], **INCREMENTAL))
    return world


def test_a_row_that_a_later_run_has_read_again_and_loaded_is_not_loaded_once_more(boundary_rows: World) -> None:
    boundary_rows.run(boundary_rows.table_document(**INCREMENTAL))
    assert boundary_rows.rows() == [(3, "Cy"), (3, None)]
    boundary_rows.sql("insert into s values (9, 'Dee')")
    boundary_rows.run(boundary_rows.table_document(rules=[NOT_NULL], **INCREMENTAL))
    document = boundary_rows.table_document(**INCREMENTAL)
    assert recheck(boundary_rows, document).row_counts == {"read_again": 1, "repeated": 1}
    report = replay(boundary_rows, document)
    assert report.row_counts == {"read_again": 1, "repeated": 1}
    assert reconciles(report)
    assert boundary_rows.rows() == [(3, "Cy"), (3, None), (9, "Dee")]


def test_nor_if_runs_have_rejected_it_once_more_since(boundary_rows: World) -> None:
    boundary_rows.run(boundary_rows.table_document(**INCREMENTAL))
    boundary_rows.run(boundary_rows.table_document(rules=[NOT_NULL], **INCREMENTAL))
    newest = ids(boundary_rows)[-1:]
    assert len(ids(boundary_rows)) == 2
    assert replay(boundary_rows, boundary_rows.table_document(**INCREMENTAL), newest).row_counts == {"read_again": 1}
    assert len(boundary_rows.rows()) == 2


def test_a_row_that_came_late_and_that_no_run_has_loaded_is(boundary_rows: World) -> None:
    strict = boundary_rows.table_document(rules=[NOT_NULL], **INCREMENTAL)
    boundary_rows.run(boundary_rows.table_document(**INCREMENTAL))
    boundary_rows.sql("insert into s values (4, null)")
    boundary_rows.run(strict)
    boundary_rows.run(strict)
    newest = ids(boundary_rows, "row ->> 'id' = '4'")
    assert replay(boundary_rows, boundary_rows.table_document(**INCREMENTAL), newest).row_counts == {
        "loaded": 1,
        "repeated": 1,
    }


def test_an_old_copy_is_not_loaded_beside_the_row_as_it_is_now(boundary_rows: World) -> None:
    boundary_rows.sql("update s set name = 'Bob' where name is null")
    boundary_rows.run(boundary_rows.table_document(rules=[NOT_NULL], **INCREMENTAL))
    fix(boundary_rows, name="Bert")
    assert replay(boundary_rows, boundary_rows.table_document(**INCREMENTAL)).row_counts == {"read_again": 1}
    assert boundary_rows.rows() == [(3, "Cy"), (3, "Bob")]


def test_a_row_within_the_lag_was_read_again_and_one_below_it_was_not(world: World) -> None:
    world.sql("create table t (id int, name text)")
    world.sql("create table s (id int, name text)")
    world.sql("insert into s values (1, null), (8, null), (10, 'Cy')")
    document = world.table_document(watermarkLag=5, **INCREMENTAL)
    world.run(world.table_document(rules=[NOT_NULL], watermarkLag=5, **INCREMENTAL))
    world.run(document)
    assert [row[0] for row in world.rows()] == [8, 10]
    assert replay(world, document).row_counts == {"loaded": 1, "read_again": 1}
    assert [row[0] for row in world.rows()] == [1, 8, 10]


# --- rows that a later run has superseded ----------------------------------------------------------------------


@pytest.mark.parametrize("mode", ["truncate", "blue_green"])
def test_a_load_that_replaces_all_rows_supersedes_what_earlier_ones_have_rejected(world: World, mode: str) -> None:
    world.sql("create table t (id int, name text)")
    world.write("a.csv", ROWS)
    world.run(world.document(mode=mode, rules=[NOT_NULL]))
    fix(world, name="Bob")
    world.write("b.csv", "id,name\n5,Eve\n6,\n")
    world.run(world.document(mode=mode, rules=[NOT_NULL]))
    run = next(iter(world.memory.commits.values())).run_id
    superseded = "select row ->> 'id', status, \"supersededBy\" from rejected order by id"
    current = {(ident, status) for ident, status, by in world.sql(superseded) if by is None}
    assert current == {("2", "fixed"), ("4", "open"), ("6", "open")}, "a fix also applies to the same row"
    assert [row for row in world.sql(superseded) if row[2] is not None] == [
        ("2", "superseded", run),
        ("4", "superseded", run),
    ]
    old = ids(world, "status = 'superseded'")
    assert replay(world, world.document(mode=mode), old).row_counts == {"superseded": 2}


def test_a_load_that_adds_rows_supersedes_none(world: World) -> None:
    world.sql("create table t (id int, name text)")
    for name in ("a.csv", "b.csv"):
        world.write(name, ROWS + f"9{name},\n")
        world.run(world.document(rules=[NOT_NULL], onTypeMismatch="skip"))
    assert {status for status, *_ in states(world)} == {"open"}


def test_a_load_that_fails_supersedes_none(world: World) -> None:
    world.sql("create table t (id int, name text)")
    world.write("a.csv", ROWS)
    world.run(world.document(mode="truncate", rules=[NOT_NULL]))
    world.sql("create function no() returns trigger language plpgsql as $$ begin raise 'no'; end $$")
    world.sql("create trigger no before insert on t execute function no()")
    world.write("b.csv", "id,name\n5,Eve\n")
    with pytest.raises(Failure):
        world.run(world.document(mode="truncate", rules=[NOT_NULL]))
    assert {status for status, *_ in states(world)} == {"open"}


def test_a_restore_opens_them_again(world: World) -> None:
    world.sql("create table t (id int, name text)")
    document = world.document(mode="truncate", rules=[NOT_NULL], backupBeforeLoad=True)
    world.write("a.csv", ROWS)
    world.run(document)
    world.write("b.csv", "id,name\n5,Eve\n")
    world.run(document)
    second = world.memory.commits["load"].run_id
    assert [status for status, *_ in states(world)] == [*["superseded"] * 2, *["open"] * 2]
    restore = world.job(document, backup=BackupRef(second, "load"))
    restore_pipeline(restore, world.memory.ports())
    assert {status for status, *_ in states(world)} == {"open"}
    assert replay(world, world.document(mode="truncate")).row_counts == {"loaded": 2, "not_loaded": 2}


def test_a_load_that_counts_again_supersedes_them_again(world: World) -> None:
    world.sql("create table t (id int, name text)")
    document = world.document(mode="truncate", rules=[NOT_NULL], backupBeforeLoad=True)
    runs = []
    for name in ("a.csv", "b.csv", "c.csv"):
        world.write(name, f"id,name\n1,Ann\n2{name[0]},\n")
        world.run(document)
        runs.append(world.memory.commits["load"].run_id)

    def statuses() -> list[set[str]]:
        query = 'select status from rejected where "runId" = %s'
        return [{status for (status,) in world.sql(query, run)} for run in runs]

    assert statuses() == [{"superseded"}, {"superseded"}, {"open"}]
    for backup, then in ((runs[1], [{"open"}] * 3), (runs[2], [{"superseded"}, {"open"}, {"open"}])):
        restore_pipeline(world.job(document, backup=BackupRef(backup, "load")), world.memory.ports())
        assert statuses() == then


def test_copies_of_a_row_that_is_loaded_are_closed_with_it(boundary_rows: World) -> None:
    for _ in range(2):
        boundary_rows.run(boundary_rows.table_document(rules=[NOT_NULL], **INCREMENTAL))
    report = replay(boundary_rows, boundary_rows.table_document(**INCREMENTAL))
    assert report.row_counts == {"loaded": 1, "repeated": 2}
    run = boundary_rows.sql("select \"replayRun\" from rejected where status = 'replayed'")
    assert boundary_rows.sql('select status, "supersededBy" from rejected order by id') == [
        *[("superseded", *run[0])] * 2,
        ("replayed", None),
    ]


def test_a_copy_of_a_row_that_was_loaded_before_is_closed_by_the_next_replay(boundary_rows: World) -> None:
    boundary_rows.run(boundary_rows.table_document(rules=[NOT_NULL], **INCREMENTAL))
    first, second = ids(boundary_rows)
    document = boundary_rows.table_document(**INCREMENTAL)
    assert replay(boundary_rows, document, [second]).row_counts == {"loaded": 1}
    assert [status for status, *_ in states(boundary_rows)] == ["open", "replayed"]
    report = replay(boundary_rows, document, [first])
    assert (report.row_counts, report.nothing_new) == ({"repeated": 1}, True)
    assert [status for status, *_ in states(boundary_rows)] == ["superseded", "replayed"]
    assert len(boundary_rows.rows()) == 2


def test_copies_of_a_row_that_still_fails_stay_open(boundary_rows: World) -> None:
    document = boundary_rows.table_document(rules=[NOT_NULL], **INCREMENTAL)
    boundary_rows.run(document)
    assert replay(boundary_rows, document).row_counts == {"fails": 1, "repeated": 1}
    assert [status for status, *_ in states(boundary_rows)] == ["open", "open"]
