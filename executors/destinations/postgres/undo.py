"""Restores a table of a PostgreSQL database, or deletes the rows of a file: in one transaction with its own marker."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass

from psycopg import sql

from executors.errors import Terminal
from executors.load_record import (
    InputCounts,
    LoadCommit,
    LoadCounts,
    LoadFile,
    LoadKind,
    LoadRecord,
    RestoreRecord,
    RunRef,
    UndoRecord,
    WatermarkValue,
)
from executors.model import BackupRef, FileUndo, RunJob
from executors.ports import LoadUnits
from executors.postgres import meta
from executors.postgres.backup_files import newest_tokens
from executors.postgres.backups import Restored, restore_backup
from executors.postgres.client import connect, interrupt, translate
from executors.postgres.ddl import Conn
from executors.postgres.fences import raise_fence, require_fence
from executors.postgres.file_rows import FileRows, count_file_rows, delete_file_rows
from executors.postgres.names import identifier_of
from executors.postgres.quarantined import Owner
from executors.postgres.superseding import Superseded, supersede_read_again
from executors.postgres.table_lock import lock_table
from executors.postgres.watermarks import WatermarkKey, find_watermark
from executors.table_name import TableName
from ir.load_modes import load_mode
from ir.nodes import Target
from ir.words import counted


@contextmanager
def open_undo(job: RunJob, run: RunRef, target: Target) -> Iterator[PostgresUndo]:
    name = f"flow run {job.run_id}"
    with closing(connect(job.connections[target.connection], autocommit=True, application_name=name)) as connection:
        yield PostgresUndo(connection, run, target)


@dataclass(frozen=True, slots=True)
class PostgresUndo:
    connection: Conn
    run: RunRef
    target: Target

    def interrupt(self) -> None:
        interrupt(self.connection)

    def fence(self) -> None:
        run = self.run
        meta.ensure_meta(self.connection)
        raise_fence(self.connection, run.tenant, run.pipeline, run.node, run.token)

    def restore(self, backup: BackupRef, units: LoadUnits) -> LoadCommit:
        """Restore, unless an earlier attempt of this run has done so."""
        conn, run, target = self.connection, self.run, self.target
        table = TableName(target.schema_, target.table)
        with translate(run.node), conn.transaction():
            require_fence(conn, run)
            if committed := meta.find_commit(conn, run):
                return committed
            lock_table(conn, table, run.node)
            restored = restore_backup(conn, run, backup, table)
            files = _files_of(conn, run, target, restored, units)
            meta.write_commit(conn, run, _marker(conn, run, backup, table, restored, files))
        return meta.marker_of(conn, run)

    def delete_file(self, undo: FileUndo) -> LoadCommit:
        """Delete the rows of a file, unless an earlier attempt of this run has done so."""
        conn, run, target = self.connection, self.run, self.target
        table, owner = TableName(target.schema_, target.table), Owner(run.tenant, run.pipeline)
        with translate(run.node), conn.transaction():
            require_fence(conn, run)
            if committed := meta.find_commit(conn, run):
                return committed
            lock_table(conn, table, run.node)
            # Other writers wait, so that the rows that are counted are those that are deleted.
            conn.execute(sql.SQL("LOCK TABLE {} IN SHARE ROW EXCLUSIVE MODE").format(identifier_of(table)))
            found = count_file_rows(conn, owner, table, undo.sha256, run.run_id)
            _require_as_shown(found, undo.rows[run.node], run.node)
            deleted = delete_file_rows(conn, owner, table, undo.sha256, run.node)
            _require_all(found, sum(deleted.values()), run.node)
            superseded = supersede_read_again(conn, run, [LoadFile(0, undo.name, undo.sha256)])
            meta.write_commit(conn, run, _undo_marker(conn, run, table, undo, deleted, superseded))
        return meta.marker_of(conn, run)


def _require_as_shown(found: FileRows, shown: int, node: str) -> None:
    if found.rows != shown:
        raise Terminal(
            "undo.rows_changed",
            f"{counted(shown, 'row')} of {found.table} were to be deleted, but the file has {found.rows:,} there now. "
            "Nothing was changed.",
            node=node,
            hint="Look at the numbers again, then undo the file.",
        )


def _require_all(found: FileRows, deleted: int, node: str) -> None:
    if deleted != found.rows:
        raise Terminal(
            "undo.rows_survived",
            f"{counted(found.rows, 'row')} of {found.table} were to be deleted, but the database deleted {deleted:,}. "
            "Nothing was changed.",
            node=node,
            hint="Check the DELETE triggers and rules of the table.",
        )


def _undo_marker(
    conn: Conn, run: RunRef, table: TableName, undo: FileUndo, deleted: Mapping[str, int], superseded: Superseded
) -> LoadCommit:
    read = InputCounts(rows_read=0, rows_filtered=0, rows_rejected=0, rows_warned=0)
    return LoadCommit(
        run_id=run.run_id,
        node=run.node,
        attempt=run.attempt,
        token=run.token,
        kind=LoadKind.UNDO,
        table=meta.table_identity(conn, table.schema, table.table),
        superseded_tables=superseded.tables,
        record=LoadRecord(
            input=read, undo=UndoRecord(undo.sha256, undo.name, dict(deleted)), superseded_entries=superseded.entries
        ),
        files_done=(undo.sha256,),
    )


def _files_of(conn: Conn, run: RunRef, target: Target, restored: Restored, units: LoadUnits) -> Sequence[str]:
    """Return the files whose rows the restored table contains.

    They count as loaded by this run, so that a request to load a file again that the undone load had fulfilled is not
    fulfilled once more. A request that is still open stays open.
    """
    files = set(restored.files)
    if load_mode(target.load_mode).replaces_all_rows:
        newest = meta.last_files(conn, run.tenant, run.pipeline, run.node)
        files = set(newest[1]) if newest else set()
    requested = units.forgotten(sorted(files))
    loaded = newest_tokens(conn, run, requested)
    return sorted(sha256 for sha256 in files if loaded.get(sha256, 0) > requested.get(sha256, -1))


def _watermark(conn: Conn, run: RunRef, table: TableName) -> WatermarkValue | None:
    """Return where the next incremental load begins; None without a watermark."""
    watermark = find_watermark(conn, WatermarkKey(run.tenant, run.pipeline, table))
    return WatermarkValue(watermark.column, watermark.type, watermark.value) if watermark else None


def _marker(
    conn: Conn, run: RunRef, backup: BackupRef, table: TableName, done: Restored, files: Sequence[str]
) -> LoadCommit:
    restore = RestoreRecord(backup.run_id, done.rows_before, done.undone, done.redone, done.others, done.deleted)
    read = InputCounts(rows_in=done.rows, rows_read=done.rows, rows_filtered=0, rows_rejected=0, rows_warned=0)
    return LoadCommit(
        run_id=run.run_id,
        node=run.node,
        attempt=run.attempt,
        token=run.token,
        kind=LoadKind.RESTORE,
        table=meta.table_identity(conn, table.schema, table.table),
        counts=LoadCounts(staged=done.rows, inserted=done.rows),
        watermark=_watermark(conn, run, table),
        record=LoadRecord(input=read, restore=restore),
        files_done=tuple(files),
    )
