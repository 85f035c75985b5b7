"""Runs with several attempts: the next attempt loads what the attempt before has not, for every target."""

from __future__ import annotations

import uuid
from typing import Any

import pytest

from executors.errors import Cancelled, Failure, InvalidContent, LeaseLost, TargetBusy, Terminal, Transient
from executors.model import NewestFile
from executors.postgres.client import connect
from executors.postgres.table_lock import lock_table
from executors.table_name import TableName
from tests.executors.conformance.world import World

pytestmark = [pytest.mark.spark, pytest.mark.postgres]

FOLDERS = {"atomicity": {"stagingFolder": ".doing/", "successFolder": ".done/", "failureFolder": ".failed/"}}
LISTED, DONE, FAILED = "in/a", "in/.done/a", "in/.failed/a"


class PowerCut(BaseException):
    pass


@pytest.fixture
def one(world: World) -> dict[str, Any]:
    """Return a document with one table, and files that are moved when they are claimed. A missing file is not an
    error."""
    world.sql("create table t (id int primary key, name text)")
    world.write("a", "id,name\n1,Ann\n")
    return world.document(source={**FOLDERS, "waitPolicy": {"settleSeconds": 0, "onMissAction": "skip"}})


@pytest.fixture
def two(world: World, one: dict[str, Any]) -> dict[str, Any]:
    """Return a document that loads the same file into two tables."""
    world.sql("create table u (id int primary key, name text)")
    one["nodes"].append({**one["nodes"][-1], "id": "load-u", "table": "u"})
    return one


def interfere(world: World, wanted: tuple[str, str], trouble: BaseException) -> None:
    def on_step(step: str, node: str | None) -> None:
        if (step, node) == wanted:
            raise trouble

    world.memory.on_step = on_step


def at_peace(world: World) -> None:
    world.memory.on_step = lambda step, node: None


@pytest.mark.parametrize("trouble", [Transient("target.lost", "gone"), Cancelled("run.cancelled", "enough")])
def test_a_file_waits_for_the_next_attempt_where_only_the_attempt_failed(
    world: World, one: dict[str, Any], trouble: Failure
) -> None:
    run_id = str(uuid.uuid4())
    interfere(world, ("load", "load"), trouble)
    with pytest.raises(type(trouble)):
        world.run(one, run_id=run_id)
    assert (world.folder / LISTED).exists()
    at_peace(world)
    world.run(one, run_id=run_id, attempt=2)
    assert world.rows() == [(1, "Ann")]
    assert (world.folder / DONE).exists()


def test_a_file_that_would_fail_again_goes_to_the_failed_ones(world: World, one: dict[str, Any]) -> None:
    interfere(world, ("load", "load"), InvalidContent("rule.abort", "bad rows"))
    with pytest.raises(Terminal):
        world.run(one)
    assert (world.folder / FAILED).exists()


REFUSALS = {
    "target.statement_refused": "create table child (id int references t); insert into t values (7, 'Cem')",
    "target.column_unknown": "alter table t drop column name",
    "target.column_required": "alter table t add column born date not null",
    "target.not_loadable": "drop table t; create view t as select 1 as id, 'Ann' as name",
    "target.table_gone": "drop table t",
    "upsert.key_not_unique": "alter table t drop constraint t_pkey",
}
"""What is wrong with the target, and how it comes about."""
MODES = {"target.statement_refused": "truncate", "upsert.key_not_unique": "upsert"}


@pytest.mark.parametrize("code", REFUSALS)
def test_a_file_stays_where_it_is_if_the_target_refuses_the_load(world: World, one: dict[str, Any], code: str) -> None:
    mode = MODES.get(code, "append")
    one["nodes"][-1] |= {"loadMode": mode, "upsertKey": ["id"]} if mode == "upsert" else {"loadMode": mode}
    if code == "target.table_gone":
        world.run(one)
        (world.folder / DONE).rename(world.folder / "in/a")
    world.sql(REFUSALS[code])
    with pytest.raises(Terminal) as stopped:
        world.run(one)
    assert stopped.value.code == code
    assert (world.folder / LISTED).read_text() == "id,name\n1,Ann\n"
    assert "failed" not in world.memory.states.values()


def test_a_file_that_a_failed_run_puts_back_replaces_no_newer_one(world: World, one: dict[str, Any]) -> None:
    def replaced(step: str, node: str | None) -> None:
        if step == "load":
            world.write("a", "id,name\n2,Bob\n")
            raise Transient("target.lost", "gone")

    world.memory.on_step = replaced
    with pytest.raises(Transient):
        world.run(one)
    at_peace(world)
    world.run(one)
    assert world.rows() == [(1, "Ann"), (2, "Bob")]


def test_a_file_that_cannot_be_scanned_goes_to_the_failed_ones(world: World, one: dict[str, Any]) -> None:
    one["nodes"][0]["columns"] = [{"name": "nowhere", "type": "integer"}]
    one["nodes"][0]["config"]["format"] = {"type": "parquet"}
    with pytest.raises(Terminal):
        world.run(one)
    assert (world.folder / FAILED).exists()


@pytest.mark.parametrize("trouble", [Transient("target.lost", "gone"), PowerCut()])
def test_the_second_target_still_gets_the_file_that_the_first_has(
    world: World, two: dict[str, Any], trouble: BaseException
) -> None:
    run_id = str(uuid.uuid4())
    interfere(world, ("load", "load-u"), trouble)
    with pytest.raises(type(trouble)):
        world.run(two, run_id=run_id)
    at_peace(world)
    report = world.run(two, run_id=run_id, attempt=2)
    assert world.rows() == world.rows(table="u") == [(1, "Ann")]
    assert not report.nothing_new
    assert (world.folder / DONE).exists()


def test_a_file_that_only_an_earlier_attempt_had_to_load_is_reported_as_loaded(
    world: World, two: dict[str, Any]
) -> None:
    """A run has loaded the file into the table `u` before `t` became a target."""
    del two["nodes"][0]["config"]["atomicity"]
    *others, _, second = two["nodes"]
    world.run({**two, "nodes": [*others, second]})
    (ann,) = world.memory.states
    world.write("b", "id,name\n2,Bob\n")
    run_id = str(uuid.uuid4())
    interfere(world, ("load", "load-u"), Transient("target.lost", "gone"))
    with pytest.raises(Transient):
        world.run(two, run_id=run_id)
    at_peace(world)
    world.memory.states = dict.fromkeys(world.memory.states, "pending")
    world.run(two, run_id=run_id, attempt=2)
    assert world.rows() == world.rows(table="u") == [(1, "Ann"), (2, "Bob")]
    assert set(world.memory.states.values()) == {"committed"}
    assert ann in world.memory.states
    assert world.memory.skipped == []


def test_files_that_every_target_got_from_earlier_attempts_are_put_away(world: World, two: dict[str, Any]) -> None:
    *others, _, second = two["nodes"]
    world.run({**two, "nodes": [*others, second]})
    (world.folder / DONE).rename(world.folder / "in/a")
    world.write("b", "id,name\n2,Bob\n")
    run_id = str(uuid.uuid4())
    interfere(world, ("finish", None), PowerCut())
    with pytest.raises(PowerCut):
        world.run(two, run_id=run_id)
    at_peace(world)
    world.run(two, run_id=run_id, attempt=2)
    assert sorted(path.name for path in (world.folder / "in/.done").iterdir()) == ["a", "b"]
    assert set(world.memory.states.values()) == {"committed"}


def test_what_an_earlier_attempt_rejected_is_reported_by_the_one_that_ends_the_run(
    world: World, one: dict[str, Any]
) -> None:
    world.write("b", "id,name\n2,\n")
    one["nodes"][1]["rowLevel"] = [{"type": "notNull", "field": "name", "onFail": "skip"}]
    one["nodes"][1]["datasetLevel"] = {"rowCount": {"min": 9, "onFail": "warn"}}
    run_id = str(uuid.uuid4())
    interfere(world, ("finish", None), PowerCut())
    with pytest.raises(PowerCut):
        world.run(one, run_id=run_id)
    at_peace(world)
    report = world.run(one, run_id=run_id, attempt=2)
    assert [node.id for node in report.nodes] == ["src", "check", "load"]
    assert [rule.violations for rule in report.rules] == [1]
    assert [(check.check, check.ok) for check in report.checks] == [("rowCount", False)]
    assert sorted(warning.code for warning in report.warnings) == ["check.failed", "rows.rejected"]
    assert (report.quarantine_rows, report.quarantine_tables) == (1, [f"{world.schema}.rejected"])


def test_a_file_that_came_between_two_attempts_goes_to_both_targets_in_the_next_run(
    world: World, two: dict[str, Any]
) -> None:
    run_id = str(uuid.uuid4())
    interfere(world, ("load", "load-u"), Transient("target.lost", "gone"))
    with pytest.raises(Transient):
        world.run(two, run_id=run_id)
    at_peace(world)
    world.write("b", "id,name\n2,Bob\n")
    world.run(two, run_id=run_id, attempt=2)
    assert world.rows() == world.rows(table="u") == [(1, "Ann")]
    world.run(two)
    assert world.rows() == world.rows(table="u") == [(1, "Ann"), (2, "Bob")]


def test_a_file_that_vanished_between_two_attempts_fails_the_run(world: World, two: dict[str, Any]) -> None:
    del two["nodes"][0]["config"]["atomicity"]
    run_id = str(uuid.uuid4())
    interfere(world, ("load", "load-u"), Transient("target.lost", "gone"))
    with pytest.raises(Transient):
        world.run(two, run_id=run_id)
    at_peace(world)
    (world.folder / "in/a").unlink()
    with pytest.raises(Transient) as stopped:
        world.run(two, run_id=run_id, attempt=2)
    assert stopped.value.code == "source.changed"


@pytest.mark.parametrize("trouble", [None, Transient("target.lost", "gone")])
def test_a_worker_that_wakes_up_late_leaves_the_table_that_its_successor_loads(
    world: World, one: dict[str, Any], trouble: Failure | None
) -> None:
    world.sql("drop table t")

    def overtake(step: str, node: str | None) -> None:
        if step == "load":
            world.sql("update flow_meta.fences set token = token + 10")
            if trouble:
                raise trouble

    world.memory.on_step = overtake
    with pytest.raises(LeaseLost):
        world.run(one)
    assert world.rows() == []
    assert world.claimed("a")


def test_only_a_run_without_news_for_any_target_has_nothing_new(world: World, two: dict[str, Any]) -> None:
    del two["nodes"][0]["config"]["atomicity"]
    first, second = two["nodes"][-2:]
    world.run({**two, "nodes": two["nodes"][:-1]})
    assert not world.run({**two, "nodes": [*two["nodes"][:-2], first, second]}).nothing_new
    assert world.run(two).nothing_new


def test_a_table_that_was_dropped_is_never_filled_with_new_files_only(world: World, one: dict[str, Any]) -> None:
    del one["nodes"][0]["config"]["atomicity"]
    world.run(one)
    world.sql("drop table t")
    world.write("b", "id,name\n2,Bob\n")
    with pytest.raises(Terminal) as stopped:
        world.run(one)
    assert stopped.value.code == "target.table_gone"


def test_another_table_is_never_taken_for_the_one_that_was_loaded(world: World, one: dict[str, Any]) -> None:
    del one["nodes"][0]["config"]["atomicity"]
    world.run(one)
    world.sql("create table u (id int primary key, name text)")
    one["nodes"][-1]["table"] = "u"
    with pytest.raises(Terminal) as stopped:
        world.run(one)
    assert stopped.value.code == "target.table_changed"


def test_a_renamed_table_is_the_same_table(world: World, one: dict[str, Any]) -> None:
    del one["nodes"][0]["config"]["atomicity"]
    world.run(one)
    world.sql("alter table t rename to u")
    one["nodes"][-1]["table"] = "u"
    assert world.run(one).nothing_new


def test_another_table_is_filled_by_a_mode_that_replaces_all_rows(world: World, one: dict[str, Any]) -> None:
    del one["nodes"][0]["config"]["atomicity"]
    one["nodes"][-1]["loadMode"] = "truncate"
    one["nodes"][-1].pop("upsertKey", None)
    world.run(one)
    world.sql("create table u (id int primary key, name text)")
    one["nodes"][-1]["table"] = "u"
    assert not world.run(one).nothing_new


def renamed(document: dict[str, Any], **changes: Any) -> dict[str, Any]:
    """Return the document with another ID of its target."""
    return {**document, "nodes": [*document["nodes"][:-1], {**document["nodes"][-1], "id": "renamed", **changes}]}


def test_a_renamed_target_does_not_reload_the_rows_of_its_table(world: World, one: dict[str, Any]) -> None:
    del one["nodes"][0]["config"]["atomicity"]
    world.run(one)
    report = world.run(renamed(one))
    assert report.nothing_new
    assert [warning.code for warning in report.warnings] == ["target.renamed"]
    world.write("b", "id,name\n2,Bob\n")
    world.run(renamed(one))
    assert world.rows() == [(1, "Ann"), (2, "Bob")]
    assert world.run(renamed(one)).warnings == [], "it has loaded something itself"


def test_a_renamed_target_reloads_on_request(world: World, one: dict[str, Any]) -> None:
    del one["nodes"][0]["config"]["atomicity"]
    world.run(one)
    (sha256,) = world.memory.states
    world.memory.forgotten_tokens = {sha256: 1}
    world.sql("delete from t")
    assert world.run(renamed(one)).warnings == []
    assert world.rows() == [(1, "Ann")]


def test_a_new_target_with_a_table_of_its_own_gets_all_files(world: World, one: dict[str, Any]) -> None:
    del one["nodes"][0]["config"]["atomicity"]
    world.run(one)
    world.sql("create table u (id int primary key, name text)")
    assert world.run(renamed(one, table="u")).warnings == []
    assert world.rows(table="u") == [(1, "Ann")]


@pytest.fixture
def first_in_first_out(world: World, one: dict[str, Any]) -> dict[str, Any]:
    one["nodes"][0]["config"]["ordering"] = "fifo_by_name"
    return one


def test_a_failed_file_holds_back_those_behind_it_until_it_is_fixed(
    world: World, first_in_first_out: dict[str, Any]
) -> None:
    world.write("a", "id,name\nx,Ann\n")
    with pytest.raises(Terminal):
        world.run(first_in_first_out)
    world.write("b", "id,name\n2,Bob\n")
    with pytest.raises(Terminal) as stopped:
        world.run(first_in_first_out)
    assert stopped.value.code == "source.held_back"
    assert world.rows() == []
    assert (world.folder / "in/b").exists(), "it was not even claimed"
    world.write("a", "id,name\n1,Ann\n")
    world.run(first_in_first_out)
    assert world.rows() == [(1, "Ann"), (2, "Bob")]


def test_files_before_a_failed_one_are_loaded(world: World, first_in_first_out: dict[str, Any]) -> None:
    world.memory.failed_names = {"in/b"}
    world.write("c", "id,name\n3,Cem\n")
    report = world.run(first_in_first_out)
    assert [warning.code for warning in report.warnings] == ["file.held_back"]
    assert world.rows() == [(1, "Ann")]


def test_a_mode_that_replaces_all_rows_takes_all_files_or_none(
    world: World, first_in_first_out: dict[str, Any]
) -> None:
    first_in_first_out["nodes"][-1]["loadMode"] = "truncate"
    world.memory.failed_names = {"in/b"}
    world.write("c", "id,name\n3,Cem\n")
    with pytest.raises(Terminal, match=r"in/c was not loaded"):
        world.run(first_in_first_out)


def test_a_file_that_comes_after_a_newer_one_is_loaded_with_a_warning(
    world: World, first_in_first_out: dict[str, Any]
) -> None:
    world.memory.newest = NewestFile("in/b", 0)
    report = world.run(first_in_first_out)
    assert [warning.code for warning in report.warnings] == ["file.late"]
    assert world.rows() == [(1, "Ann")]


def test_files_that_cannot_be_scanned_are_reported_as_failed(world: World, first_in_first_out: dict[str, Any]) -> None:
    first_in_first_out["nodes"][0]["columns"] = [{"name": "nowhere", "type": "integer"}]
    with pytest.raises(Terminal):
        world.run(first_in_first_out)
    assert world.memory.failed_names == {"in/a"}
    assert set(world.memory.states.values()) == {"failed"}


def test_a_run_whose_table_another_load_holds_reads_nothing(world: World, one: dict[str, Any]) -> None:
    with connect(world.warehouse) as loader:
        lock_table(loader, TableName(world.schema, "t"))
        with pytest.raises(TargetBusy):
            world.run(one)
    assert [step for step, _ in world.memory.steps] == ["start"]
    world.run(one)
    assert world.rows() == [(1, "Ann")]


def test_a_target_that_went_back_to_an_older_state_is_not_loaded_until_a_person_says_so(world: World) -> None:
    world.sql("create table t (id int primary key)")
    world.write("a", "id\n1\n")
    world.run(world.document())
    world.write("b", "id\n2\n")
    world.run(world.document())
    lost = world.memory.commits["load"].run_id
    world.sql("delete from flow_meta.load_commits where run_id = %s", lost)
    world.sql("delete from t where id = 2")
    world.memory.steps.clear()

    with pytest.raises(Terminal) as stopped:
        world.run(world.document())
    assert (stopped.value.code, lost in stopped.value.message) == ("target.went_back", True)
    assert [step for step, _ in world.memory.steps] == ["start"]
    assert world.rows() == [(1,)]

    del world.memory.commits["load"]
    world.run(world.document())
    assert world.rows() == [(1,), (2,)]
