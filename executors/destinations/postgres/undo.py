"""The restore of a table of a PostgreSQL database, in one transaction with a commit marker of its own."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass

from executors.load_record import (
    InputCounts,
    LoadCommit,
    LoadCounts,
    LoadKind,
    LoadRecord,
    RestoreRecord,
    RunRef,
    WatermarkValue,
)
from executors.model import BackupRef, RunJob
from executors.ports import LoadUnits
from executors.postgres import meta
from executors.postgres.backup_files import newest_tokens
from executors.postgres.backups import Restored, restore_backup
from executors.postgres.client import connect, interrupt, translate
from executors.postgres.ddl import Conn
from executors.postgres.fences import raise_fence, require_fence
from executors.postgres.table_lock import lock_table
from executors.postgres.watermarks import WatermarkKey, find_watermark
from executors.table_name import TableName
from ir.load_modes import load_mode
from ir.nodes import Target


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
    restore = RestoreRecord(backup.run_id, done.rows_before, done.undone, done.redone, done.others)
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
