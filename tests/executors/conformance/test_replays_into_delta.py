"""Replays into Delta tables, whose rejected rows are in a PostgreSQL database: a row is loaded once, and its entry says
so in the end."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest
from deltalake import write_deltalake

from executors.delta.markers import Marker
from executors.destinations.delta import rejected_rows
from executors.destinations.delta.rejects import RejectStore
from executors.errors import Terminal, Transient
from executors.model import RunJob
from executors.postgres.client import connect
from executors.postgres.replay_results import read_results
from executors.runs.replay import replay_rows
from tests.destinations.delta.world import DeltaWorld
from tests.executors.conformance.test_explodes import RULE, balance, explode
from tests.executors.conformance.test_explodes import document as exploded
from tests.executors.conformance.test_explodes import write as write_records
from tests.executors.conformance.test_replays import NOT_NULL, ROWS, fix, ids, recheck, replay, rows_ref, states
from tests.executors.conformance.world import World, reconciles, target_of

pytestmark = [
    pytest.mark.spark,
    pytest.mark.postgres,
    pytest.mark.parametrize("destination", ["delta"], indirect=True),
]


class PowerCut(BaseException):
    pass


@pytest.fixture
def lake(world: World) -> DeltaWorld:
    assert isinstance(world, DeltaWorld)
    world.create_table("create table t (id int, name text)")
    world.write("a.csv", ROWS)
    return world


@pytest.fixture
def loaded(lake: DeltaWorld) -> DeltaWorld:
    """A load with two rows in the table and two in quarantine."""
    lake.run(lake.document(rules=[NOT_NULL]))
    return lake


def replay_failing(lake: DeltaWorld, owner: object, name: str) -> RunJob:
    """Make one attempt of a replay, which ends when it calls a function for its own load; return its job."""
    job, called = lake.job(lake.document(), rows=rows_ref(lake, ids(lake))), getattr(owner, name)

    def call(*args: Any) -> Any:
        if any(isinstance(one, Marker) and one.commit.run_id != job.run_id for one in args):
            return called(*args)
        raise PowerCut

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(owner, name, call)
        with pytest.raises(PowerCut):
            replay_rows(job, lake.memory.ports())
    return job


def results(lake: DeltaWorld, job: RunJob) -> list[str]:
    with connect(lake.warehouse, autocommit=True) as conn:
        return [one.result for one in read_results(conn, job.run_id, "load")]


def test_a_replay_that_was_not_settled_is_settled_by_its_next_attempt(loaded: DeltaWorld) -> None:
    job = replay_failing(loaded, RejectStore, "settle")
    assert loaded.rows("id") == [(1,), (2,), (3,), (4,)]
    assert [state for state, *_ in states(loaded)] == ["open", "open"]
    again = loaded.job(loaded.document(), job.run_id, attempt=2, rows=job.rows)
    assert replay_rows(again, loaded.memory.ports()).row_counts == {"loaded": 2}
    assert states(loaded) == [("replayed", "loaded", None)] * 2
    assert results(loaded, job) == ["loaded", "loaded"]
    assert loaded.rows("id") == [(1,), (2,), (3,), (4,)]


def test_the_rows_of_a_replay_that_was_not_settled_are_not_loaded_by_another_one(loaded: DeltaWorld) -> None:
    replay_failing(loaded, RejectStore, "settle")
    assert replay(loaded, loaded.document()).row_counts == {"already": 2}
    assert loaded.rows("id") == [(1,), (2,), (3,), (4,)]


def test_a_replay_that_did_not_commit_shows_no_results_and_leaves_the_rows_open(loaded: DeltaWorld) -> None:
    job = replay_failing(loaded, rejected_rows, "commit_load")
    assert states(loaded) == [("open", None, None)] * 2
    assert results(loaded, job) == []
    assert replay(loaded, loaded.document()).row_counts == {"loaded": 2}
    assert loaded.rows("id") == [(1,), (2,), (3,), (4,)]


def test_a_replay_is_no_load_of_files(loaded: DeltaWorld) -> None:
    replay(loaded, loaded.document())
    assert loaded.run(loaded.document()).nothing_new
    loaded.write("b.csv", "id,name\n5,Eve\n")
    assert target_of(loaded.run(loaded.document())).rows_read == 1


def with_taken_key(lake: DeltaWorld, **target: Any) -> dict[str, Any]:
    """Load with upsert, reject the rows 2 and 4, then insert a row 2 into the table; return the document."""
    document = lake.document(mode="upsert", rules=[NOT_NULL], **target)
    lake.run(document)
    other = pa.table({"id": pa.array([2], pa.int32()), "name": ["Newer"]})
    write_deltalake(lake.table().uri, other, mode="append")
    fix(lake, name="Fixed")
    return document


def test_a_row_whose_key_exists_is_not_loaded_unless_it_is_ticked(lake: DeltaWorld) -> None:
    document = with_taken_key(lake)
    report = replay(lake, document)
    assert report.row_counts == {"exists": 1, "fails": 1}
    assert reconciles(report)
    assert lake.rows("id, name") == [(1, "Ann"), (2, "Newer"), (3, "Cy")]
    names = [f"{run}:{row_id}" for run, row_id in lake.sql('select "runId", "rowId" from rejected')]
    assert replay(lake, document, overwrite=frozenset(names)).row_counts == {"loaded": 1, "fails": 1}
    assert lake.rows("id, name") == [(1, "Ann"), (2, "Fixed"), (3, "Cy")]


def test_a_row_that_is_older_than_that_of_the_table_is_never_loaded(lake: DeltaWorld) -> None:
    document = with_taken_key(lake, orderBy="name")
    names = [f"{run}:{row_id}" for run, row_id in lake.sql('select "runId", "rowId" from rejected')]
    assert replay(lake, document, overwrite=frozenset(names)).row_counts == {"older": 1, "fails": 1}
    assert lake.rows("id, name") == [(1, "Ann"), (2, "Newer"), (3, "Cy")]


def test_a_key_that_appears_while_rows_are_replayed_stops_all_of_it(
    lake: DeltaWorld, monkeypatch: pytest.MonkeyPatch
) -> None:
    document = with_taken_key(lake)
    monkeypatch.setattr(rejected_rows, "find_taken", lambda plan, table: {})
    with pytest.raises(Transient) as caught:
        replay(lake, document)
    assert caught.value.code == "replay.keys_appeared"
    assert lake.rows("id, name") == [(1, "Ann"), (2, "Newer"), (3, "Cy")]
    assert [state for state, *_ in states(lake)] == ["fixed", "open"]


def test_the_hash_of_the_file_and_the_record_come_along(world: World) -> None:
    assert isinstance(world, DeltaWorld)
    world.write("a.csv", ROWS)
    world.run(world.document(rules=[NOT_NULL]))
    ((run, name),) = world.sql('select distinct "runId", "sourceFile" from rejected')
    ((sha256,),) = set(world.rows("_source_file_hash"))
    replay(world, world.document(), hashes={(run, name): sha256})
    assert set(world.rows("_source_file_hash")) == {(sha256,)}
    assert world.rows("id, _source_record") == [("1", 1), ("2", 2), ("3", 3), ("4", 4)]


def test_rows_cannot_be_replayed_once_the_pipeline_names_no_quarantine(loaded: DeltaWorld) -> None:
    with pytest.raises(Terminal) as caught:
        replay(loaded, loaded.document(quarantine=False))
    assert caught.value.code == "replay.no_quarantine"


def test_a_replay_is_settled_although_a_later_version_had_no_quarantine(loaded: DeltaWorld) -> None:
    replay_failing(loaded, RejectStore, "settle")
    loaded.write("b.csv", "id,name\n5,Eve\n")
    loaded.run(loaded.document(quarantine=False))
    assert replay(loaded, loaded.document()).row_counts == {"already": 2}
    assert loaded.rows("id") == [(1,), (2,), (3,), (4,), (5,)]


def test_a_load_without_quarantine_supersedes_rows_once_there_is_one_again(lake: DeltaWorld) -> None:
    lake.run(lake.document(mode="truncate", rules=[NOT_NULL]))
    lake.write("a.csv", ROWS + "5,Eve\n")
    lake.run(lake.document(mode="truncate", quarantine=False))
    replay(lake, lake.document(mode="truncate"))
    assert [state for state, *_ in states(lake)] == ["superseded"] * 2
    assert lake.rows("id") == [(1,), (2,), (3,), (4,), (5,)]


def test_a_recheck_says_what_a_replay_would_do_and_changes_nothing(lake: DeltaWorld) -> None:
    document = with_taken_key(lake)
    before = lake.sql("select * from rejected order by id"), lake.rows()
    reported = recheck(lake, document)
    assert reported.row_counts == {"exists": 1, "fails": 1}
    (taken,) = [row for row in reported.row_results if row["result"] == "exists"]
    assert taken["conflict"] == {"key": {"id": "2"}, "changes": {"name": ["Newer", "Fixed"]}}
    assert (lake.sql("select * from rejected order by id"), lake.rows()) == before


def test_no_row_of_a_key_that_exists_is_loaded_in_place_of_another_one(lake: DeltaWorld) -> None:
    lake.write("a.csv", "id,name\n1,Ann\n2,\n2,\n")
    document = lake.document(mode="upsert", rules=[NOT_NULL])
    lake.run(document)
    other = pa.table({"id": pa.array([2], pa.int32()), "name": ["Newer"]})
    write_deltalake(lake.table().uri, other, mode="append")
    document = lake.document(mode="upsert")
    conflicts = [row["conflict"] for row in recheck(lake, document).row_results]
    assert conflicts == [{"key": {"id": "2"}, "changes": {"name": ["Newer", None]}}] * 2
    report = replay(lake, document)
    assert report.row_counts == {"exists": 2}
    assert reconciles(report)
    assert lake.rows("id, name") == [(1, "Ann"), (2, "Newer")]


def test_checks_do_not_see_the_rows_whose_key_exists(lake: DeltaWorld) -> None:
    lake.write("a.csv", "id,name\n1,Ann\n2,Bob\n4,Bob\n")
    lake.run(lake.document(mode="upsert", rules=[{"type": "range", "field": "id", "max": 1, "onFail": "skip"}]))
    other = pa.table({"id": pa.array([4], pa.int32()), "name": ["Newer"]})
    write_deltalake(lake.table().uri, other, mode="append")
    checks = {"unique": {"column": "name", "onFail": "abort"}}
    assert replay(lake, lake.document(mode="upsert", checks=checks)).row_counts == {"loaded": 1, "exists": 1}


@pytest.mark.parametrize("mode", ["append", "truncate", "upsert"])
def test_a_preview_says_what_the_run_then_does_and_leaves_no_file(lake: DeltaWorld, mode: str) -> None:
    document = lake.document(mode=mode, rules=[NOT_NULL])
    previewed = lake.preview(document)
    (effect,) = previewed.effects
    files = lake.table().lake.list("")
    assert [path for path in files if path.endswith(".parquet")] == []
    loaded = target_of(lake.run(document))
    assert (effect.inserted, effect.before, effect.after) == (2, 0, 2)
    assert (target_of(previewed).rows_rejected, loaded.rows_inserted) == (2, 2)
    assert reconciles(previewed)


def test_a_replayed_record_whose_keys_are_taken_is_not_loaded_in_part(world: World) -> None:
    assert isinstance(world, DeltaWorld)
    world.create_table("create table t (id text, item int, place int)")
    write_records(world, [(1, "[1, 99, 3]")])
    key: Any = {"mode": "upsert", "upsertKey": ["id", "place"]}
    made = exploded(world, explode("integer"), rules=[RULE], failAtRejectedPct=0, **key)
    world.run(made)
    row = {"id": ["1"], "item": pa.array([7], pa.int32()), "place": pa.array([1], pa.int32())}
    write_deltalake(world.table().uri, pa.table(row), mode="append")
    fix(world, doc="[1, 2, 3]")
    report = replay(world, made)
    assert report.row_counts == {"exists": 1}
    assert balance(report) == (1, 0, 0, 1, 0)
    assert world.rows("item") == [(7,)]


def test_a_corrected_record_is_replayed_with_all_its_rows(world: World) -> None:
    world.create_table("create table t (id text, item int, place int)")
    write_records(world, [(1, "[1, 99, 3]"), (2, "[4]")])
    made = exploded(world, explode("integer"), rules=[RULE])
    world.run(made)
    fix(world, doc="[1, 2, 3]")
    report = replay(world, made)
    assert report.row_counts == {"loaded": 1}
    assert balance(report) == (1, 2, 3, 0, 0)
    assert world.rows("item") == [(1,), (2,), (3,), (4,)]
