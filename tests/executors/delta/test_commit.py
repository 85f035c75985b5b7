"""Commits of loads: once, behind a fence, whatever other writers and the store do."""

from __future__ import annotations

import shutil
from urllib.parse import urlsplit

import pyarrow as pa
import pytest
from deltalake import CommitProperties, DeltaTable, write_deltalake

from executors.delta import commit as commits
from executors.errors import Failure, LeaseLost, TargetBusy, Transient
from tests.executors.delta.conftest import ROWS, SCHEMA, Loads, commit

MORE = ({"id": 3, "name": "Cid"},)


def test_a_load_creates_a_missing_table(loads: Loads) -> None:
    loads.load(ROWS)
    assert loads.rows() == list(ROWS)


def test_an_attempt_that_was_overtaken_before_there_was_a_table_cannot_commit(loads: Loads) -> None:
    older, newer = loads.run(), loads.run()
    plan = loads.staged(ROWS, run=older)
    loads.log.note_fence(newer)
    with pytest.raises(LeaseLost):
        commit(plan)
    assert loads.rows() == []


def test_a_newer_attempt_creates_the_table_behind_its_own_fence(loads: Loads) -> None:
    run = loads.run()
    loads.log.note_fence(run)
    commit(loads.staged(ROWS, run=run))
    assert loads.rows() == list(ROWS)


def test_a_load_without_rows_creates_an_empty_table(loads: Loads) -> None:
    loads.load(())
    assert loads.rows() == []


def test_the_same_run_commits_once(loads: Loads) -> None:
    run = loads.run()
    first = commit(loads.staged(ROWS, run=run))
    again = commit(loads.staged(ROWS, run=run))
    assert again == first
    assert loads.rows() == list(ROWS)


def test_an_older_attempt_cannot_commit(loads: Loads) -> None:
    loads.create()
    older, newer = loads.run(), loads.run()
    plan = loads.staged(ROWS, run=older)
    commit(loads.staged(MORE, run=newer))
    with pytest.raises(LeaseLost):
        commit(plan)
    assert loads.rows() == list(MORE)


def test_a_fence_that_is_raised_between_reading_and_committing_stops_the_commit(
    loads: Loads, monkeypatch: pytest.MonkeyPatch
) -> None:
    loads.create()
    plan, newer, real = loads.staged(ROWS), loads.run(), commits._commit

    def overtaken(*args: object) -> None:
        properties = CommitProperties(app_transactions=loads.log.transactions(newer, loads=False))
        table = loads.table()
        table.create_write_transaction([], "append", table.schema(), commit_properties=properties)
        real(*args)  # type: ignore[arg-type]

    monkeypatch.setattr(commits, "_commit", overtaken)
    with pytest.raises(LeaseLost):
        commit(plan)
    assert loads.rows() == []


@pytest.mark.parametrize(("mode", "expected"), [("append", 3), ("truncate", 2), ("upsert", 3)])
def test_a_change_is_made_again_if_another_writer_was_faster(
    loads: Loads, monkeypatch: pytest.MonkeyPatch, mode: str, expected: int
) -> None:
    loads.create()
    plan, real, others = loads.staged(ROWS, mode), commits._commit, [MORE]

    def overtaken(*args: object) -> None:
        while others:
            write_deltalake(loads.folder.uri, pa.Table.from_pylist(list(others.pop()), SCHEMA), mode="append")
        real(*args)  # type: ignore[arg-type]

    monkeypatch.setattr(commits, "_commit", overtaken)
    commit(plan)
    assert len(loads.rows()) == expected


def test_a_writer_that_is_always_faster_returns_the_run_to_the_queue(
    loads: Loads, monkeypatch: pytest.MonkeyPatch
) -> None:
    loads.create()
    plan, real = loads.staged(ROWS), commits._commit

    def overtaken(*args: object) -> None:
        write_deltalake(loads.folder.uri, pa.Table.from_pylist(list(MORE), SCHEMA), mode="append")
        real(*args)  # type: ignore[arg-type]

    monkeypatch.setattr(commits, "_commit", overtaken)
    monkeypatch.setattr(commits, "PAUSE_SECONDS", 0)
    with pytest.raises(TargetBusy):
        commit(plan)
    assert all(row in MORE for row in loads.rows())


def test_a_commit_whose_answer_is_lost_is_found_in_the_log(loads: Loads, monkeypatch: pytest.MonkeyPatch) -> None:
    loads.create()
    real = commits._commit

    def lost(*args: object) -> None:
        real(*args)  # type: ignore[arg-type]
        raise Transient("target.store_failed", "The connection was reset.")

    monkeypatch.setattr(commits, "_commit", lost)
    done = loads.load(ROWS)
    assert done.counts.inserted == 2
    assert loads.rows() == list(ROWS)


def test_a_commit_that_failed_is_reported(loads: Loads, monkeypatch: pytest.MonkeyPatch) -> None:
    loads.create()

    def fail(*args: object) -> None:
        raise Transient("target.store_failed", "The connection was reset.")

    monkeypatch.setattr(commits, "_commit", fail)
    with pytest.raises(Failure, match=r"^target\.store_failed"):
        loads.load(ROWS)
    assert loads.rows() == []


def test_staged_rows_that_are_missing_fail_the_load(loads: Loads) -> None:
    loads.create()
    plan = loads.staged(ROWS)
    loads.folder.delete([plan.files.added(7)])
    with pytest.raises(Transient, match=r"^staging\.lost"):
        commit(plan)


def test_columns_that_changed_since_the_rows_were_staged_fail_the_load(loads: Loads) -> None:
    loads.create()
    plan = loads.staged(ROWS)
    write_deltalake(
        loads.folder.uri, pa.table({"id": pa.array([9], pa.int32()), "more": [1]}), mode="append", schema_mode="merge"
    )
    with pytest.raises(Transient, match=r"^target\.columns_changed"):
        commit(plan)


def test_a_full_refresh_replaces_all_rows_in_one_version(loads: Loads) -> None:
    loads.create(ROWS)
    before = loads.table().version()
    loads.load(MORE, "truncate")
    assert loads.rows() == list(MORE)
    assert loads.table().version() == before + 1
    table = DeltaTable(loads.folder.uri, version=before)
    assert table.to_pyarrow_table().num_rows == 2


# --- markers ---------------------------------------------------------------------------------------------------


def test_markers_are_those_of_committed_loads_the_newest_first(loads: Loads, monkeypatch: pytest.MonkeyPatch) -> None:
    first = loads.load(ROWS)
    with monkeypatch.context() as broken:
        broken.setattr(commits, "_commit", _fail)
        with pytest.raises(Failure):
            loads.load(MORE)
    last = loads.load(MORE)
    assert [marker.commit for marker in loads.log.markers(loads.table())] == [last, first]


def test_targets_of_one_table_have_markers_of_their_own(loads: Loads) -> None:
    loads.load(ROWS)
    other = Loads(loads.store, node="other", tokens=loads.tokens)
    done = other.load(MORE)
    assert [marker.commit for marker in other.log.markers(other.table())] == [done]
    assert len(loads.rows()) == 3


def test_a_table_that_was_made_again_has_no_markers(loads: Loads) -> None:
    loads.load(ROWS)
    shutil.rmtree(urlsplit(loads.folder.uri).path)
    loads.create()
    assert loads.log.markers(loads.table()) == ()


def test_a_missing_marker_is_reported(loads: Loads) -> None:
    loads.load(ROWS)
    last = loads.load(MORE)
    loads.folder.lake.delete([loads.log._path(last.token)])
    with pytest.raises(Failure, match=r"^target\.markers_lost"):
        loads.log.markers(loads.table())


def _fail(*args: object) -> None:
    raise Transient("target.store_failed", "The connection was reset.")
