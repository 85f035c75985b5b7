"""A restore: returns a target to its state before a load, from the backup that the load took. Runs no hooks."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass, replace

from executors.commit_report import add_commit, add_warnings
from executors.destinations import load_destination
from executors.destinations.base import Undo
from executors.errors import Failure, Terminal
from executors.load_record import LoadCommit, RunRef
from executors.model import BackupRef, RunJob
from executors.ports import Ports
from executors.report import RunReport, RunWarning
from executors.runs.names import FINISH, LOAD, START
from executors.runs.step import run_steps
from executors.runs.steps.progress import log_commit
from ir.nodes import Target

UNDONE = "A backup was restored; the next run loads it again."
DELETED = "A backup was restored that was taken after its rows were deleted."


@dataclass(frozen=True, slots=True)
class RestoreState:
    """The target and its backup, and what the restore has committed."""

    ports: Ports
    report: RunReport
    undo: Undo
    target: Target
    backup: BackupRef
    commit: LoadCommit | None = None

    @property
    def committed(self) -> LoadCommit:
        if self.commit is None:
            raise LookupError(f"{self.target.id} is not restored yet")
        return self.commit


def watch_cancellation(state: RestoreState) -> RestoreState:
    """Let a cancellation interrupt the current statement."""

    def interrupt_statement() -> None:
        with suppress(Failure):
            state.undo.interrupt()

    state.ports.cancellation.on_cancel(interrupt_statement)
    return state


def raise_target_fence(state: RestoreState) -> RestoreState:
    """Prevent older attempts from restoring. Raises LeaseLost if a newer attempt has done the same."""
    state.undo.fence()
    return state


def restore_table(state: RestoreState) -> RestoreState:
    """Restore the backup, unless an earlier attempt of this run has done so."""
    return replace(state, commit=state.undo.restore(state.backup, state.ports.units))


def report_restore(state: RestoreState) -> RestoreState:
    add_warnings(state.report, hooks_not_run(state.target))
    state.ports.events.committed(state.committed)
    log_commit(state.ports.events, state.committed)
    for node in add_commit(state.report, state.committed):
        state.ports.events.node_finished(node)
    return state


def note_files(state: RestoreState) -> RestoreState:
    """Record which files the table no longer contains, and which it contains again."""
    if (restore := state.committed.record.restore) is not None:
        state.ports.units.undo(restore.undone, UNDONE)
        state.ports.units.finish(restore.redone)
        state.ports.units.mark_deleted(restore.deleted, DELETED)
    return state


def raise_cause(state: RestoreState, error: BaseException | None) -> None:
    """Replace errors that an interruption causes with the reason for the interruption."""
    if isinstance(error, Failure):
        state.ports.cancellation.check()


RESTORE_RUN = (
    START.does(watch_cancellation, raise_target_fence),
    LOAD.does(restore_table, report_restore),
    FINISH.does(note_files),
)


def restore_pipeline(job: RunJob, ports: Ports) -> RunReport:
    """Restore the backup of the job, in one transaction with a commit marker of its own.

    Returns the report. Raises the `Failure` that ended the run.
    """
    target = _target_of(job)
    run = RunRef(job.run_id, job.tenant, job.pipeline.id, target.id, job.attempt, job.token)
    handler = load_destination(target)
    if not handler.capabilities.undo:
        raise handler.unsupported("backups")
    with handler.open_undo(job, run, target) as undo:
        state = RestoreState(ports, RunReport(), undo, target, _backup_of(job))
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


def hooks_not_run(target: Target) -> list[RunWarning]:
    """Return warnings about hooks that the restore does not run."""
    hooks = [placed.id for placed in target.hooks() if placed.stage != "preHook"]
    if not hooks:
        return []
    text = (
        f"A restore runs no hooks. These hooks were not run: {', '.join(hooks)}. Materialized views and other objects "
        "that they update still reflect the table before the restore."
    )
    return [RunWarning("restore.hooks_not_run", target.id, text)]
