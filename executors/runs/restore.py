"""A restore: a target as it was before a load, put back from the backup that the load took. No hooks are run."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import closing, suppress
from dataclasses import dataclass, replace

from executors.commit_report import add_commit, add_warnings
from executors.errors import Failure, Terminal
from executors.load_record import (
    InputCounts,
    LoadCommit,
    LoadCounts,
    LoadKind,
    LoadRecord,
    RestoreRecord,
    WatermarkValue,
)
from executors.model import BackupRef, RunJob, RunReport, RunWarning
from executors.ports import LoadUnits, Ports
from executors.postgres import meta
from executors.postgres.backup_files import newest_tokens
from executors.postgres.backups import Restored, restore_backup
from executors.postgres.client import connect, interrupt, translate
from executors.postgres.ddl import Conn
from executors.postgres.fences import raise_fence, require_fence
from executors.postgres.meta import RunRef
from executors.postgres.names import TableName
from executors.postgres.table_lock import lock_table
from executors.postgres.watermarks import WatermarkKey, find_watermark
from executors.runs.names import FINISH, LOAD, START
from executors.runs.step import run_steps
from ir.load_modes import load_mode
from ir.nodes import Target

UNDONE = "A backup was restored; the next run loads it again."


@dataclass(frozen=True, slots=True)
class RestoreState:
    """The target and its backup, and what the restore has committed."""

    ports: Ports
    report: RunReport
    connection: Conn
    target: Target
    run: RunRef
    backup: BackupRef
    commit: LoadCommit | None = None

    @property
    def committed(self) -> LoadCommit:
        if self.commit is None:
            raise LookupError(f"{self.target.id} is not restored yet")
        return self.commit


def watch_cancellation(state: RestoreState) -> RestoreState:
    """Let a cancellation interrupt the statement that runs."""

    def interrupt_statement() -> None:
        with suppress(Failure):
            interrupt(state.connection)

    state.ports.cancellation.on_cancel(interrupt_statement)
    return state


def raise_target_fence(state: RestoreState) -> RestoreState:
    """Keep older attempts from restoring. Raises LeaseLost behind a newer one."""
    run = state.run
    meta.ensure_meta(state.connection)
    raise_fence(state.connection, run.tenant, run.pipeline, run.node, run.token)
    return state


def restore_table(state: RestoreState) -> RestoreState:
    """Put the backup back, unless an earlier attempt of this run has done so."""
    conn, run, backup, target = state.connection, state.run, state.backup, state.target
    table = TableName(target.schema_, target.table)
    with translate(run.node), conn.transaction():
        require_fence(conn, run)
        if committed := meta.find_commit(conn, run):
            return replace(state, commit=committed)
        lock_table(conn, table, run.node)
        restored = restore_backup(conn, run, backup, table)
        files = _files_of(conn, run, target, restored, state.ports.units)
        meta.write_commit(conn, run, _marker(conn, run, backup, table, restored, files))
    return replace(state, commit=meta.marker_of(conn, run))


def report_restore(state: RestoreState) -> RestoreState:
    add_warnings(state.report, hooks_not_run(state.target))
    state.ports.events.committed(state.committed)
    for node in add_commit(state.report, state.committed):
        state.ports.events.node_finished(node)
    return state


def note_files(state: RestoreState) -> RestoreState:
    """Note which files the table no longer holds, and which it holds again."""
    if (restore := state.committed.record.restore) is not None:
        state.ports.units.undo(restore.undone, UNDONE)
        state.ports.units.finish(restore.redone)
    return state


def raise_cause(state: RestoreState, error: BaseException | None) -> None:
    """What is interrupted fails with errors of its own."""
    if isinstance(error, Failure):
        state.ports.cancellation.check()


RESTORE_RUN = (
    START.does(watch_cancellation, raise_target_fence),
    LOAD.does(restore_table, report_restore),
    FINISH.does(note_files),
)


def restore_pipeline(job: RunJob, ports: Ports) -> RunReport:
    """Put the backup of the job back, in one transaction with a commit marker of its own.

    Returns what was done; raises the `Failure` that ended it.
    """
    target = _target_of(job)
    run = RunRef(job.run_id, job.tenant, job.pipeline.id, target.id, job.attempt, job.token)
    name = f"flow run {job.run_id}"
    with closing(connect(job.connections[target.connection], autocommit=True, application_name=name)) as connection:
        state = RestoreState(ports, RunReport(), connection, target, run, _backup_of(job))
        state = run_steps(RESTORE_RUN, state, ports, target.id, raise_cause)
    return state.report


def _backup_of(job: RunJob) -> BackupRef:
    if job.backup is None:
        raise Terminal("backup.gone", "The backup of this run no longer exists.")
    return job.backup


def _target_of(job: RunJob) -> Target:
    node = _backup_of(job).node
    for target in job.pipeline.targets():
        if target.id == node:
            return target
    raise Terminal(
        "backup.target_gone",
        f"The pipeline no longer has the target {node!r}.",
        hint="Add the target again, then restore.",
    )


def _files_of(conn: Conn, run: RunRef, target: Target, restored: Restored, units: LoadUnits) -> Sequence[str]:
    """What the table holds again. It counts as loaded by this run, so that a wish to load it again that was fulfilled
    by what is undone now is not fulfilled once more. A wish that waits to be fulfilled goes on waiting."""
    files = set(restored.files)
    if load_mode(target.load_mode).replaces_all_rows:
        newest = meta.last_files(conn, run.tenant, run.pipeline, run.node)
        files = set(newest[1]) if newest else set()
    requested = units.forgotten(sorted(files))
    loaded = newest_tokens(conn, run, requested)
    return sorted(sha256 for sha256 in files if loaded.get(sha256, 0) > requested.get(sha256, -1))


def _watermark(conn: Conn, run: RunRef, table: TableName) -> WatermarkValue | None:
    """Where an incremental load goes on from here; None where there is no watermark."""
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


def hooks_not_run(target: Target) -> list[RunWarning]:
    """What a restore leaves to people."""
    hooks = [placed.id for placed in target.hooks() if placed.stage != "preHook"]
    if not hooks:
        return []
    text = (
        f"A restore runs no hooks, so these were not run: {', '.join(hooks)}. What they refresh or tell, such as a "
        "materialized view of the table, is as it was before the restore."
    )
    return [RunWarning("restore.hooks_not_run", target.id, text)]
