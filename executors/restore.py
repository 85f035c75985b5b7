"""A restore: a target as it was before a load, put back from the backup that the load took."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import closing, suppress

from executors.errors import Failure, Terminal
from executors.markers import tell, told_of
from executors.model import BackupRef, LoadCommit, RunJob, RunReport, RunWarning
from executors.ports import LoadUnits, Ports
from executors.postgres import meta
from executors.postgres.backup_files import newest_tokens
from executors.postgres.backups import Restored, restore_backup
from executors.postgres.client import connect, interrupt, translate
from executors.postgres.ddl import Conn
from executors.postgres.fences import raise_fence, require_fence
from executors.postgres.load_plan import LoadCounts
from executors.postgres.meta import RunRef
from executors.postgres.names import TableName
from executors.postgres.table_lock import lock_table
from executors.postgres.watermarks import MarkKey, find_mark
from ir.load_modes import load_mode
from ir.nodes import Target

UNDONE = "A backup was restored; the next run loads it again."


def restore_pipeline(job: RunJob, ports: Ports) -> RunReport:
    """Put the backup of the job back, in one transaction with a commit marker of its own.

    Returns what was done; raises the `Failure` that ended it. No hooks are run.
    """
    target = _target_of(job)
    ref = RunRef(job.run_id, job.tenant, job.pipeline.id, target.id, job.attempt, job.token)
    with closing(_connect(job, target)) as conn:
        ports.events.step("start")
        ports.cancellation.on_cancel(lambda: _interrupt(conn))
        meta.ensure_meta(conn)
        raise_fence(conn, ref.tenant, ref.pipeline, ref.node, ref.token)
        ports.cancellation.check()
        ports.events.step("load", target.id)
        try:
            commit = _restore(conn, ref, _backup_of(job), target, ports)
        except Failure:
            ports.cancellation.check()  # what was interrupted fails with errors of its own
            raise
    return _tell(ports, commit, target)


def _connect(job: RunJob, target: Target) -> Conn:
    name = f"flow run {job.run_id}"
    return connect(job.connections[target.connection], autocommit=True, application_name=name)


def _interrupt(conn: Conn) -> None:
    with suppress(Failure):
        interrupt(conn)


def _backup_of(job: RunJob) -> BackupRef:
    if job.backup is None:
        raise Terminal("backup.gone", "The backup that this run was to restore is no longer known.")
    return job.backup


def _target_of(job: RunJob) -> Target:
    node = _backup_of(job).node
    for target in job.pipeline.targets():
        if target.id == node:
            return target
    raise Terminal(
        "backup.target_gone", f"The pipeline no longer has the target {node!r}.", hint="Give it back, then restore."
    )


def _restore(conn: Conn, run: RunRef, backup: BackupRef, target: Target, ports: Ports) -> LoadCommit:
    table = TableName(target.schema_, target.table)
    with translate(run.node), conn.transaction():
        require_fence(conn, run)
        if committed := meta.find_commit(conn, run):
            return committed
        lock_table(conn, table, run.node)
        restored = restore_backup(conn, run, backup, table)
        marker = {**_marker(conn, backup, table, restored), "mark": _mark(conn, run, table)}
        meta.write_commit(conn, run, marker, _files_of(conn, run, target, restored, ports.units))
    return meta.marker_of(conn, run)


def _files_of(conn: Conn, run: RunRef, target: Target, restored: Restored, units: LoadUnits) -> Sequence[str]:
    """What the table holds again. It counts as loaded by this run, so that a wish to load it again that was fulfilled
    by what is undone now is not fulfilled once more. A wish that waits to be fulfilled goes on waiting."""
    files = set(restored.files)
    if load_mode(target.load_mode).replaces_all_rows:
        newest = meta.last_files(conn, run.tenant, run.pipeline, run.node)
        files = set(newest[1]) if newest else set()
    wished = units.forgotten(sorted(files))
    loaded = newest_tokens(conn, run, wished)
    return sorted(sha256 for sha256 in files if loaded.get(sha256, 0) > wished.get(sha256, -1))


def _mark(conn: Conn, run: RunRef, table: TableName) -> dict[str, str] | None:
    """Where an incremental load goes on from here; None where there is no mark."""
    mark = find_mark(conn, MarkKey(run.tenant, run.pipeline, table))
    return {"column": mark.column, "type": mark.type, "value": mark.value} if mark else None


def _marker(conn: Conn, backup: BackupRef, table: TableName, done: Restored) -> dict[str, object]:
    counts = LoadCounts(done.rows, done.rows, 0, 0, 0)
    read = {"rows_in": done.rows, "rows_read": done.rows, "rows_filtered": 0, "rows_rejected": 0, "rows_warned": 0}
    return {
        "load": counts.to_json(),
        "node": {**read, **counts.node_fields()},
        "told": told_of((), (), (), ()),
        "table": meta.table_identity(conn, table.schema, table.table),
        "restored": {
            "run": backup.run_id,
            "rows_before": done.rows_before,
            "undone": done.undone,
            "redone": done.redone,
            "others": done.others,
        },
    }


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


def _tell(ports: Ports, commit: LoadCommit, target: Target) -> RunReport:
    report = RunReport(warnings=hooks_not_run(target))
    ports.events.committed(commit)
    for node in tell(report, commit):
        ports.events.node_finished(node)
    ports.events.step("finish")
    ports.units.undo(commit.counts["restored"]["undone"], UNDONE)
    ports.units.finish(commit.counts["restored"]["redone"])
    return report
