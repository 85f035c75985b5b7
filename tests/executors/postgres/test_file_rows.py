"""Undoing a file: exactly its rows are deleted, or nothing with a reason."""

from __future__ import annotations

import uuid
from collections.abc import Callable, Iterator
from itertools import count

import psycopg
import pytest

from executors.destinations.postgres.undo import PostgresUndo
from executors.errors import Failure, LeaseLost
from executors.load_record import LoadCommit, LoadFindings, LoadKind, RestoreRecord, RunRef
from executors.model import BackupRef, FileUndo
from executors.postgres.file_rows import FileRows, count_file_rows
from executors.postgres.load import LoadFile
from executors.postgres.meta import files_loaded, last_files
from executors.postgres.quarantine import ensure_quarantine
from executors.postgres.quarantined import Owner
from executors.table_name import TableName
from tests.executors.conformance.world import Memory
from tests.executors.postgres.conftest import TENANT, target_node

pytestmark = pytest.mark.postgres
A, B = "a" * 64, "b" * 64
COLUMNS = "_source_file_hash text, _flow_run uuid, _source_record bigint"


@pytest.fixture
def table(make) -> str:
    make(f"CREATE TABLE t (id integer, {COLUMNS})")
    return "t"


@pytest.fixture
def tokens() -> Iterator[int]:
    return count(1)


@pytest.fixture
def load(loading, tokens) -> Callable[..., str]:
    """Append rows of files (`load((1, A), (2, B))`) and return the run."""

    def run(*given: tuple[int, str], **more: str) -> str:
        backs_up = bool(more.pop("backs_up", ""))
        load = loading("t", "id integer", token=next(tokens), **more)
        hashes = list(dict.fromkeys(sha256 for _, sha256 in given))
        for number, sha256 in enumerate(hashes):
            load.stage([(row,) for row, of in given if of == sha256], task=number + 1, file=number)
        files = [LoadFile(number, f"{sha256[0]}.csv", sha256) for number, sha256 in enumerate(hashes)]
        load.commit(files=files, backs_up=backs_up)
        return load.run.run_id

    return run


@pytest.fixture
def found(conn: psycopg.Connection, schema: str) -> Callable[..., FileRows]:
    def look(sha256: str = A, pipeline: str = "") -> FileRows:
        with conn.transaction():
            return count_file_rows(conn, Owner(TENANT, pipeline or f"p-{schema}"), TableName(schema, "t"), sha256)

    return look


@pytest.fixture
def undo(conn: psycopg.Connection, schema: str, tokens) -> Callable[..., LoadCommit]:
    """Undo a file as its run does, with the number of rows that was shown."""

    def run(rows: int, sha256: str = A, *, run_id: str = "", token: int = 0) -> LoadCommit:
        ref = RunRef(run_id or str(uuid.uuid4()), TENANT, f"p-{schema}", "load", 1, token or next(tokens))
        undo = PostgresUndo(conn, ref, target_node(schema, "t"))
        undo.fence()
        return undo.delete_file(FileUndo(sha256, "a.csv", "Wrong.", {"load": rows}))

    return run


def test_the_rows_of_a_file_are_deleted_and_equal_rows_of_another_stay(table, load, found, undo, rows):
    first = load((1, A), (2, A), (1, B))

    assert (found().rows, found().missing, [run.run_id for run in found().runs]) == (2, 0, [first])
    commit = undo(2)

    assert rows("SELECT id, _source_file_hash FROM t") == [(1, B)]
    assert (commit.kind, commit.files_done) == (LoadKind.UNDO, (A,))
    assert commit.record.undo is not None
    assert commit.record.undo.rows_of_runs == {first: 2}


def test_all_loads_of_the_file_are_undone(table, load, found, undo, rows):
    load((1, A))
    load((1, A))
    assert found().rows == 2
    undo(2)
    assert rows("SELECT count(*) FROM t") == [(0,)]


def test_rows_that_another_pipeline_loaded_from_the_same_bytes_stay(table, load, found, undo, rows):
    load((1, A))
    load((1, A), pipeline="another")
    assert (found().rows, found().others) == (1, 1)
    undo(1)
    assert (found(pipeline="another").rows, rows("SELECT count(*) FROM t")) == (1, [(1,)])


def test_an_undone_file_counts_as_done_until_it_is_requested_again(conn, schema, table, load, undo):
    load((1, A), (2, B))
    commit = undo(1)
    loaded = files_loaded(conn, TENANT, f"p-{schema}", "load", [A, B], others=[], table=(schema, "t"))
    assert {sha256: by.is_undone for sha256, by in loaded.items()} == {A: True, B: False}
    assert loaded[A].token == commit.token
    assert last_files(conn, TENANT, f"p-{schema}", "load") == (commit.token, frozenset())


def test_rows_that_are_missing_are_reported_and_those_that_were_undone_are_not(table, load, found, undo, make):
    load((1, A), (2, A), (3, B), (4, B))
    make("DELETE FROM t WHERE id = 1")
    assert (found().rows, found().missing) == (1, 1)
    undo(1)
    assert (found(B).rows, found(B).missing) == (2, 1)


def test_rows_that_were_replayed_without_their_file_are_reported(conn, schema, table, load, found, make):
    load((1, A))
    replay = load((2, B))
    conn.execute("UPDATE flow_meta.load_commits SET kind = 'replay', files_done = '{}' WHERE run_id = %s", [replay])
    make("UPDATE t SET _source_file_hash = NULL WHERE id = 2")
    assert (found().rows, found().unattributed) == (1, 1)


def test_replayed_rows_of_the_file_are_deleted_too(conn, table, load, found, undo, rows):
    load((1, A))
    replay = load((2, A))
    conn.execute("UPDATE flow_meta.load_commits SET kind = 'replay', files_done = '{}' WHERE run_id = %s", [replay])
    assert found().rows == 2
    undo(2)
    assert rows("SELECT count(*) FROM t") == [(0,)]


def test_another_number_of_rows_than_was_shown_is_refused(table, load, undo, rows):
    load((1, A))
    with pytest.raises(Failure, match=r"2 rows of .* were to be deleted, but the file has 1 there now") as refused:
        undo(2)
    assert refused.value.code == "undo.rows_changed"
    assert rows("SELECT count(*) FROM t") == [(1,)]


def test_an_undo_that_is_repeated_deletes_once(table, load, undo, rows):
    load((1, A))
    run = str(uuid.uuid4())
    first = undo(1, run_id=run, token=90)
    load_after = rows("SELECT count(*) FROM t")
    again = undo(1, run_id=run, token=91)
    assert (again.record.undo, load_after) == (first.record.undo, [(0,)])


def test_an_older_attempt_cannot_delete_after_a_newer_one(conn, schema, table, load, undo, rows):
    load((1, A))
    ref = RunRef(str(uuid.uuid4()), TENANT, f"p-{schema}", "load", 1, 50)
    older = PostgresUndo(conn, ref, target_node(schema, "t"))
    older.fence()
    PostgresUndo(conn, RunRef(ref.run_id, TENANT, f"p-{schema}", "load", 2, 51), target_node(schema, "t")).fence()
    with pytest.raises(LeaseLost):
        older.delete_file(FileUndo(A, "a.csv", "Wrong.", {"load": 1}))
    assert rows("SELECT count(*) FROM t") == [(1,)]


REFUSED = {
    "undo.cascades": ("CREATE TABLE items (t_id integer REFERENCES t (id) ON DELETE CASCADE)", ""),
    "undo.referenced": ("CREATE TABLE items (t_id integer REFERENCES t (id)); INSERT INTO items VALUES (1)", ""),
    "undo.rows_survived": (
        "CREATE FUNCTION no() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RETURN NULL; END';"
        " CREATE TRIGGER stay BEFORE DELETE ON t FOR EACH ROW EXECUTE FUNCTION no()",
        "",
    ),
    "undo.columns_missing": ("ALTER TABLE t DROP COLUMN _flow_run", ""),
    "undo.load_mode": ("", "UPDATE flow_meta.load_commits SET load_mode = 'upsert' WHERE run_id = %s"),
    "undo.not_loaded": ("", "UPDATE flow_meta.load_commits SET undone_by = 'x' WHERE run_id = %s"),
    "undo.aggregated": (
        "",
        "UPDATE flow_meta.load_commits SET record = jsonb_set(record, '{input,rows_grouped}', '3') WHERE run_id = %s",
    ),
}


@pytest.mark.parametrize("code", REFUSED)
def test_a_file_that_cannot_be_undone_exactly_is_refused(conn, table, load, undo, make, rows, code):
    make("ALTER TABLE t ADD UNIQUE (id)")
    run = load((1, A))
    statement, change = REFUSED[code]
    if statement:
        make(statement)
    if change:
        conn.execute(change, [run])
    with pytest.raises(Failure) as refused:
        undo(1)
    assert refused.value.code == code
    assert refused.value.hint
    assert rows("SELECT count(*) FROM t") == [(1,)]


def test_a_foreign_key_to_a_partition_counts_as_one_to_the_table(load, undo, make, rows):
    make(f"CREATE TABLE t (id integer, {COLUMNS}) PARTITION BY LIST (id)")
    make("CREATE TABLE t1 PARTITION OF t DEFAULT; ALTER TABLE t1 ADD UNIQUE (id)")
    make("CREATE TABLE items (t_id integer REFERENCES t1 (id) ON DELETE CASCADE)")
    load((1, A))
    make("INSERT INTO items VALUES (1)")
    with pytest.raises(Failure, match=r"items") as refused:
        undo(1)
    assert refused.value.code == "undo.cascades"
    assert rows("SELECT count(*) FROM items") == [(1,)]


def test_triggers_of_partitions_are_shown(load, found, make):
    make(f"CREATE TABLE t (id integer, {COLUMNS}) PARTITION BY LIST (id)")
    make("CREATE TABLE t1 PARTITION OF t DEFAULT")
    make("CREATE FUNCTION seen() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RETURN OLD; END'")
    make("CREATE TRIGGER seen BEFORE DELETE ON t1 FOR EACH ROW EXECUTE FUNCTION seen()")
    load((1, A))
    assert found().triggers == ("seen",)


def test_a_row_that_a_replay_has_upserted_is_not_deleted(conn, table, load, undo, rows):
    """The replay may have replaced a row of another file."""
    load((1, A))
    replay = load((2, A))
    changed = "UPDATE flow_meta.load_commits SET kind = 'replay', load_mode = 'upsert', files_done = '{}'"
    conn.execute(f"{changed} WHERE run_id = %s", [replay])
    with pytest.raises(Failure) as refused:
        undo(2)
    assert refused.value.code == "undo.load_mode"
    assert rows("SELECT id FROM t ORDER BY 1") == [(1,), (2,)]


def test_rows_that_a_run_has_inserted_by_two_targets_are_counted_together(conn, table, load, found, make):
    run = load((1, A), (2, A))
    make("INSERT INTO t SELECT * FROM t")
    conn.execute("CREATE TEMP TABLE again AS SELECT * FROM flow_meta.load_commits WHERE run_id = %s", [run])
    conn.execute("UPDATE again SET node = 'other'")
    conn.execute("INSERT INTO flow_meta.load_commits SELECT * FROM again")
    make("DELETE FROM t WHERE id = 1")
    assert (found().rows, found().missing) == (2, 2)


def test_a_file_is_undone_once(table, load, undo):
    load((1, A))
    undo(1)
    with pytest.raises(Failure) as refused:
        undo(0)
    assert refused.value.code == "undo.done"


def test_open_rejected_rows_of_the_file_are_superseded(conn, schema, table, loading, tokens, undo, rows):
    name = f"{schema}.rejected"
    ensure_quarantine(conn, name)
    load = loading("t", "id integer", token=next(tokens))
    load.stage([(1,)])
    load.reject({"record": 2, "source_file": "rows.csv"})
    load.commit(quarantine={"check": name}, findings=LoadFindings(reject_tables=(name,)))
    commit = undo(1)
    assert rows('SELECT status, "supersededBy" FROM rejected') == [("superseded", commit.run_id)]
    assert (commit.superseded_tables, commit.record.superseded_entries) == ((name,), 1)


# --- with backups ------------------------------------------------------------------------------------------------


@pytest.fixture
def restore(conn: psycopg.Connection, schema: str, tokens) -> Callable[[str], RestoreRecord]:
    """Restore the backup that a run has taken."""

    def run(run_id: str) -> RestoreRecord:
        undo = PostgresUndo(
            conn, RunRef(str(uuid.uuid4()), TENANT, f"p-{schema}", "load", 1, next(tokens)), target_node(schema, "t")
        )
        undo.fence()
        commit = undo.restore(BackupRef(run_id, "load"), Memory())
        assert commit.record.restore is not None
        return commit.record.restore

    return run


def test_a_backup_from_before_the_undo_restores_the_rows_and_the_file_counts_as_loaded(
    table, load, undo, restore, found, rows
):
    load((1, A))
    second = load((2, B), backs_up="yes")
    undo(1)
    done = restore(second)
    assert (rows("SELECT id FROM t"), done.undone, done.redone, done.deleted) == ([(1,)], (B,), (A,), ())
    assert found().rows == 1


def test_a_backup_from_after_the_undo_leaves_the_file_undone(conn, schema, table, load, undo, restore, rows):
    load((1, A))
    undo(1)
    later = load((2, B), backs_up="yes")
    done = restore(later)
    assert (rows("SELECT id FROM t"), done.undone, done.redone, done.deleted) == ([], (B,), (), ())
    loaded = files_loaded(conn, TENANT, f"p-{schema}", "load", [A], others=[], table=(schema, "t"))
    assert loaded[A].is_undone


def test_backups_around_the_undo_can_be_restored_one_after_the_other(table, load, undo, restore, rows):
    load((1, A))
    before = load((2, B), backs_up="yes")
    undo(1)
    after = load((3, "c" * 64), backs_up="yes")
    assert restore(before).redone == (A,)
    done = restore(after)
    assert (rows("SELECT id FROM t"), done.redone, done.deleted) == ([(2,)], (B,), (A,))


def test_a_backup_from_before_the_load_lets_the_file_load_again(table, load, undo, restore, rows):
    first = load((1, A), backs_up="yes")
    undo(1)
    assert restore(first).undone == (A,)
