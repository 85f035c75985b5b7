"""Backups in sequence: restored in any order, with the loads of other pipelines in between."""

from __future__ import annotations

import uuid
from collections.abc import Callable, Iterator
from itertools import count

import psycopg
import pytest

from executors.destinations.postgres.tables import refuse_unloadable
from executors.errors import Terminal
from executors.load_record import LoadCommit, LoadFindings, LoadKind, TableIdentity
from executors.model import BackupRef
from executors.postgres.backups import Restored, restore_backup
from executors.postgres.ddl import ddl
from executors.postgres.load import LoadFile, RunRef
from executors.postgres.meta import files_loaded, write_commit
from executors.postgres.quarantine import ensure_quarantine
from executors.table_name import TableName
from tests.executors.postgres.conftest import TENANT, target_node

pytestmark = pytest.mark.postgres
A, B, C = ("a" * 64, "b" * 64, "c" * 64)


@pytest.fixture
def table(make) -> str:
    make("CREATE TABLE t (id integer)")
    return "t"


@pytest.fixture
def tokens() -> Iterator[int]:
    return count(1)


@pytest.fixture
def load(loading, table, tokens) -> Callable[..., BackupRef]:
    """Append one row from a file with a backup before it, and return the backup."""

    def run(row: int, sha256: str, **more: str) -> BackupRef:
        load = loading(table, "id integer", token=next(tokens), **more)
        load.stage([(row,)])
        load.commit(backs_up=True, files=[LoadFile(0, "rows.csv", sha256)])
        return BackupRef(load.run.run_id, load.run.node)

    return run


@pytest.fixture
def restore(conn: psycopg.Connection, schema: str, table: str, tokens) -> Callable[[BackupRef], Restored]:
    def run(backup: BackupRef) -> Restored:
        ref = RunRef(str(uuid.uuid4()), TENANT, f"p-{schema}", "load", 1, next(tokens))
        identity = TableIdentity(schema, table, None)
        with ddl(conn):
            done = restore_backup(conn, ref, backup, TableName(schema, table))
            write_commit(
                conn,
                ref,
                LoadCommit(ref.run_id, ref.node, 1, identity, ref.token, LoadKind.RESTORE, files_done=done.files),
            )
        return done

    return run


@pytest.fixture
def held(conn: psycopg.Connection, schema: str) -> Callable[[], set[str]]:
    """Return the files that count as loaded."""

    def find() -> set[str]:
        return set(files_loaded(conn, TENANT, f"p-{schema}", "load", [A, B, C], others=[], table=(schema, "t")))

    return find


def test_a_later_backup_restored_after_an_earlier_one_brings_its_files_along(load, restore, rows, held):
    _, second, third = load(1, A), load(2, B), load(3, C)

    earlier = restore(second)
    assert (rows("SELECT id FROM t"), held()) == ([(1,)], {A})
    assert (earlier.files, earlier.undone, earlier.redone) == ((A,), (B, C), ())

    later = restore(third)
    assert (rows("SELECT id FROM t ORDER BY id"), held()) == ([(1,), (2,)], {A, B})
    assert (later.files, later.undone, later.redone) == ((A, B), (), (B,))


def test_a_backup_taken_after_a_restore_knows_what_that_had_undone(load, restore, rows, held):
    first, second = load(1, A), load(2, B)
    restore(second)
    after = load(3, C)
    restore(first)
    assert (rows("SELECT id FROM t"), held()) == ([], set())

    restore(after)
    assert (rows("SELECT id FROM t"), held()) == ([(1,)], {A})


def test_rejected_rows_of_a_load_that_counts_again_are_what_they_were(loading, load, restore, tokens, rows, schema):
    place = f"{schema}.rejected"
    with_rejects = loading("t", "id integer", token=next(tokens))
    ensure_quarantine(with_rejects.conn, place)
    with_rejects.reject(
        {"record": 1, "severity": "skip"},
        {"record": 1, "severity": "warn", "rule_id": "r2"},
        {"record": 2, "severity": "warn", "disposition": "loaded"},
    )
    with_rejects.commit(backs_up=True, quarantine={"check": place}, findings=LoadFindings(reject_tables=(place,)))
    later = load(3, C)
    entries = 'SELECT "sourceRecord", severity, disposition FROM rejected ORDER BY 1, 2'
    as_loaded = rows(entries)

    restore(BackupRef(with_rejects.run.run_id, "load"))
    assert {row[2] for row in rows(entries)} == {"not_loaded"}
    restore(later)
    assert rows(entries) == as_loaded == [(1, "skip", "dropped"), (1, "warn", "dropped"), (2, "warn", "loaded")]


def test_a_restore_says_whose_rows_went_that_others_had_loaded_since(load, restore, loading, table):
    def load_by(pipeline: str, row: int) -> None:
        other = loading(table, "id integer", pipeline=pipeline)
        other.stage([(row,)])
        other.commit()

    load_by("before", 0)
    backup = load(1, A)
    load_by("since", 2)
    assert restore(backup).others == ("pipeline since",)


def test_a_trigger_that_changes_restored_rows_is_reported_and_nothing_is_restored(load, restore, make, rows):
    _, backup = load(1, A), load(2, B)
    make(
        "CREATE FUNCTION more() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN NEW.id := NEW.id + 10; RETURN NEW; END $$"
    )
    make("CREATE TRIGGER more BEFORE INSERT ON t FOR EACH ROW EXECUTE FUNCTION more()")
    with pytest.raises(Terminal) as refused:
        restore(backup)
    assert (refused.value.code, rows("SELECT id FROM t ORDER BY id")) == ("backup.rows_changed", [(1,), (2,)])


def test_a_trigger_that_leaves_rows_as_they_are_is_no_hindrance(load, restore, make, rows):
    _, backup = load(1, A), load(2, B)
    make("CREATE FUNCTION nothing() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RETURN NEW; END $$")
    make("CREATE TRIGGER nothing BEFORE INSERT ON t FOR EACH ROW EXECUTE FUNCTION nothing()")
    restore(backup)
    assert rows("SELECT id FROM t") == [(1,)]


def test_a_table_that_others_inherit_from_is_refused_before_anything_is_read(conn, schema, make, table):
    make("CREATE TABLE heir () INHERITS (t)")
    assert refuse_unloadable(conn, target_node(schema, table))
    with pytest.raises(Terminal, match="heir inherits from") as refused:
        refuse_unloadable(conn, target_node(schema, table, backup_before_load=True))
    assert refused.value.code == "backup.not_possible"


def test_a_partitioned_table_is_not_refused(conn, schema, make):
    make("CREATE TABLE p (id integer) PARTITION BY HASH (id)")
    make("CREATE TABLE p0 PARTITION OF p FOR VALUES WITH (MODULUS 1, REMAINDER 0)")
    assert refuse_unloadable(conn, target_node(schema, "p", backup_before_load=True))
