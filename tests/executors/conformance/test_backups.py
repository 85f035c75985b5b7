"""Backups: a restore puts back the rows of a target before a load, its watermark and the states of its files."""

from __future__ import annotations

import hashlib
from dataclasses import replace
from typing import Any

import pytest

from executors.errors import Terminal
from executors.load_record import WatermarkValue
from executors.model import BackupRef, Connection
from executors.postgres.backups import drop_backups
from executors.postgres.client import connect
from executors.report import RunReport
from executors.runs.restore import restore_pipeline
from tests.executors.conformance.world import World, reconciles, target_of
from tests.executors.row_modes import ROW_MODES

pytestmark = [pytest.mark.spark, pytest.mark.postgres]

MODES = ROW_MODES


@pytest.fixture(params=MODES)
def mode(request: pytest.FixtureRequest) -> str:
    return request.param


@pytest.fixture
def filled(world: World) -> World:
    """A table with two rows that no load has written."""
    world.sql("create table t (id int primary key, name text)")
    world.sql("insert into t values (1, 'old'), (2, 'old')")
    return world


def load(world: World, name: str, rows: str, **document: Any) -> tuple[dict[str, Any], BackupRef]:
    """Run a load with a backup. Returns the document and the backup."""
    world.write(name, "id,name\n" + rows)
    made = world.document(backupBeforeLoad=True, **document)
    world.run(made)
    return made, BackupRef(world.memory.commits["load"].run_id, "load")


def restore(world: World, document: dict[str, Any], backup: BackupRef) -> RunReport:
    return restore_pipeline(replace(world.job(document), backup=backup), world.memory.ports())


def test_a_restored_table_is_as_before_and_its_files_load_again(filled: World, mode: str) -> None:
    document, backup = load(filled, "a", "3,new\n4,new\n", mode=mode)
    loaded = filled.rows()
    assert loaded != [(1, "old"), (2, "old")]

    report = restore(filled, document, backup)

    assert filled.rows() == [(1, "old"), (2, "old")]
    assert (target_of(report).rows_loaded, reconciles(report)) == (2, True)
    assert list(filled.memory.states.values()) == ["pending"]
    assert reconciles(filled.run(document))
    assert filled.rows() == loaded


def test_loads_after_the_one_restored_are_undone_too(filled: World) -> None:
    document, backup = load(filled, "a", "3,new\n")
    load(filled, "b", "4,new\n")

    restore(filled, document, backup)
    filled.run(document)

    assert filled.rows() == [(1, "old"), (2, "old"), (3, "new"), (4, "new")]


def test_files_loaded_before_the_backup_stay_loaded(filled: World) -> None:
    load(filled, "a", "3,new\n")
    document, backup = load(filled, "b", "4,new\n")

    restore(filled, document, backup)
    assert filled.rows("id") == [(1,), (2,), (3,)]
    filled.run(document)

    assert filled.rows("id") == [(1,), (2,), (3,), (4,)]


def test_the_watermark_goes_back_with_the_rows(filled: World) -> None:
    filled.sql("alter table t drop constraint t_pkey")
    load(filled, "a", "3,new\n3,other\n", mode="incremental_watermark")
    document, backup = load(filled, "b", "9,new\n", mode="incremental_watermark")

    restore(filled, document, backup)

    watermark = filled.sql("select value from flow_meta.pipeline_watermarks where target_schema = %s", filled.schema)
    assert watermark == [("3",)]
    assert filled.memory.commits["load"].watermark == WatermarkValue("id", "integer", "3")
    filled.write("c", "id,name\n5,late\n")
    filled.run(document)
    assert filled.rows("id") == [(1,), (2,), (3,), (3,), (5,), (9,)]


def test_a_first_watermark_is_gone_after_a_restore(filled: World) -> None:
    document, backup = load(filled, "a", "3,new\n", mode="incremental_watermark")
    restore(filled, document, backup)
    assert filled.sql("select 1 from flow_meta.pipeline_watermarks where target_schema = %s", filled.schema) == []


def test_identities_and_generated_columns_come_back_as_they_were(world: World) -> None:
    world.sql(
        "create table t (id int, own bigint generated always as identity,"
        " twice int generated always as (id * 2) stored)"
    )
    world.sql("insert into t (id) values (1), (2)")
    before = world.rows("id, own, twice")
    world.write("a", "id\n3\n")
    document = world.document(mode="truncate", backupBeforeLoad=True)
    world.run(document)
    restore(world, document, BackupRef(world.memory.commits["load"].run_id, "load"))
    assert world.rows("id, own, twice") == before


def test_rejected_rows_of_an_undone_load_are_closed_by_the_next(filled: World) -> None:
    rule = [{"type": "notNull", "field": "id", "onFail": "skip"}]
    document, backup = load(filled, "a", "3,new\n,nobody\n", rules=rule)
    restore(filled, document, backup)
    filled.run(document)
    assert filled.sql("select disposition, status from rejected order by 1") == [
        ("dropped", "open"),
        ("not_loaded", "fixed"),
    ]


def test_restoring_twice_in_one_run_does_it_once(filled: World) -> None:
    document, backup = load(filled, "a", "3,new\n")
    job = replace(filled.job(document), backup=backup)
    restore_pipeline(job, filled.memory.ports())
    filled.sql("insert into t values (7, 'since')")

    again = restore_pipeline(replace(job, attempt=2, token=job.token + 1), filled.memory.ports())

    assert target_of(again).rows_loaded == 2
    assert filled.rows("id") == [(1,), (2,), (7,)]


@pytest.mark.parametrize(
    ("change", "code"),
    [
        ("alter table t drop column name", "backup.table_changed"),
        ("alter table t alter name type varchar(10)", "backup.table_changed"),
    ],
)
def test_a_table_that_has_changed_is_left_alone(filled: World, change: str, code: str) -> None:
    document, backup = load(filled, "a", "3,new\n")
    filled.sql(change)
    with pytest.raises(Terminal) as refused:
        restore(filled, document, backup)
    assert refused.value.code == code
    assert len(filled.rows("id")) == 3


@pytest.mark.parametrize(
    "definition", ["note text", "stamp timestamptz default now()", "own bigint generated always as identity"]
)
def test_values_in_a_column_added_after_the_backup_are_not_deleted(filled: World, definition: str) -> None:
    document, backup = load(filled, "a", "3,new\n")
    filled.sql(f"alter table t add column {definition}")
    filled.sql("update t set note = 'checked' where id = 1" if definition == "note text" else "select")
    before = filled.rows()
    with pytest.raises(Terminal) as refused:
        restore(filled, document, backup)
    assert refused.value.code == "backup.columns_added"
    assert definition.split()[0] in refused.value.message
    assert filled.rows() == before


def test_a_column_added_after_the_backup_without_values_does_not_prevent_a_restore(filled: World) -> None:
    document, backup = load(filled, "a", "3,new\n")
    filled.sql("alter table t add column note text, add column twice int generated always as (id * 2) stored")
    restore(filled, document, backup)
    assert filled.rows() == [(1, "old", None, 2), (2, "old", None, 4)]


def test_another_table_is_not_filled_with_the_backup(filled: World) -> None:
    document, backup = load(filled, "a", "3,new\n")
    filled.sql("create table other (id int primary key, name text)")
    document["nodes"][-1]["table"] = "other"
    with pytest.raises(Terminal) as refused:
        restore(filled, document, backup)
    assert refused.value.code == "backup.other_table"


def test_a_dropped_backup_is_reported_and_changes_nothing(filled: World, warehouse: Connection) -> None:
    document, backup = load(filled, "a", "3,new\n")
    with connect(warehouse, autocommit=True) as conn:
        drop_backups(conn, [backup])
        drop_backups(conn, [backup])
    with pytest.raises(Terminal) as refused:
        restore(filled, document, backup)
    assert refused.value.code == "backup.gone"
    assert filled.rows("id") == [(1,), (2,), (3,)]


def test_a_load_that_fails_leaves_no_backup(filled: World) -> None:
    filled.sql("alter table t add check (id < 3)")
    with pytest.raises(Terminal):
        load(filled, "a", "3,new\n")
    assert filled.sql("select 1 from flow_meta.backups where target_schema = %s", filled.schema) == []


def test_rows_that_a_policy_hides_keep_the_load_from_starting(filled: World) -> None:
    """A backup without the hidden rows would lose them."""
    filled.sql("alter table t enable row level security")
    filled.sql("alter table t force row level security")
    filled.sql("create policy first_only on t using (id = 1)")
    with pytest.raises(Terminal):
        load(filled, "a", "3,new\n")


def test_rows_that_a_policy_hides_keep_a_backup_from_being_restored(filled: World) -> None:
    """The hidden rows would stay next to those of the backup."""
    filled.sql("alter table t drop constraint t_pkey")
    document, backup = load(filled, "a", "3,new\n")
    filled.sql("alter table t enable row level security, force row level security")
    filled.sql("create policy later on t using (id > 1) with check (true)")
    with pytest.raises(Terminal, match="row-level security policy"):
        restore(filled, document, backup)
    filled.sql("alter table t disable row level security")
    assert filled.rows("id") == [(1,), (2,), (3,)]


@pytest.mark.parametrize("mode", ["append", "truncate"])
def test_a_wish_to_load_a_file_again_that_waits_is_fulfilled_after_a_restore(world: World, mode: str) -> None:
    world.sql("create table t (id int, name text)")
    load(world, "a", "1,old\n", mode=mode)
    document, backup = load(world, "b", "2,new\n", mode=mode)
    (world.folder / "in" / "b").unlink()
    world.memory.forgotten_tokens[sha256_of(world, "a")] = next(world.tokens)

    restore(world, document, backup)
    assert world.rows() == [(1, "old")]

    assert not world.run(document).nothing_new
    assert world.rows() == ([(1, "old")] * 2 if mode == "append" else [(1, "old")])


@pytest.mark.parametrize("mode", ["append", "truncate"])
def test_a_wish_that_was_fulfilled_is_not_fulfilled_once_more_after_a_restore(world: World, mode: str) -> None:
    world.sql("create table t (id int, name text)")
    load(world, "a", "1,old\n", mode=mode)
    world.memory.forgotten_tokens[sha256_of(world, "a")] = next(world.tokens)
    document, backup = load(world, "a", "1,old\n", mode=mode)

    restore(world, document, backup)

    assert world.run(document).nothing_new
    assert world.rows() == [(1, "old")]


def sha256_of(world: World, name: str) -> str:
    return hashlib.sha256((world.folder / "in" / name).read_bytes()).hexdigest()


def test_a_restore_runs_no_hooks_and_names_those_that_it_leaves_out(filled: World) -> None:
    filled.sql("create materialized view seen as select count(*) as n from t")
    refresh = {"type": "refresh_mat_view", "view": f"{filled.schema}.seen"}
    document, backup = load(filled, "a", "3,new\n", postHook=refresh, preHook={"type": "sql", "statement": "ANALYZE t"})

    report = restore(filled, document, backup)

    assert filled.sql("select n from seen") == [(3,)]
    assert [(warning.code, warning.node) for warning in report.warnings] == [("restore.hooks_not_run", "load")]
    assert "load.postHook.0" in report.warnings[0].message
