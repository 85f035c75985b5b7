"""Deletes the rows that a pipeline has appended from one file, in each of its targets. Runs no hooks."""

from __future__ import annotations

from contextlib import AbstractContextManager, ExitStack, suppress
from dataclasses import dataclass, replace

from executors.commit_report import add_commit
from executors.destinations import load_destination
from executors.destinations.base import Undo
from executors.errors import Failure, Terminal
from executors.load_record import LoadCommit, RunRef
from executors.model import FileUndo, RunJob
from executors.ports import Ports
from executors.report import RunReport
from executors.runs.names import FINISH, LOAD, START
from executors.runs.step import run_steps
from ir.nodes import Target
from ir.words import counted


@dataclass(frozen=True, slots=True)
class UndoState:
    """The targets that have loaded the file, and what the run has committed."""

    ports: Ports
    report: RunReport
    undo: FileUndo
    undos: tuple[Undo, ...]
    commits: tuple[LoadCommit, ...] = ()


def watch_cancellation(state: UndoState) -> UndoState:
    """Let a cancellation interrupt the current statements."""

    def interrupt_statements() -> None:
        for undo in state.undos:
            with suppress(Failure):
                undo.interrupt()

    state.ports.cancellation.on_cancel(interrupt_statements)
    return state


def raise_fences(state: UndoState) -> UndoState:
    """Prevent older attempts from deleting. Raises LeaseLost if a newer attempt has done the same."""
    for undo in state.undos:
        undo.fence()
    return state


def delete_rows(state: UndoState) -> UndoState:
    """Delete the rows in each target, unless an earlier attempt of this run has done so."""
    for undo in state.undos:
        commit = undo.delete_file(state.undo)
        state = replace(state, commits=(*state.commits, commit))
        _report(state, commit)
    return state


def _report(state: UndoState, commit: LoadCommit) -> None:
    events = state.ports.events
    events.committed(commit)
    if (done := commit.record.undo) is not None:
        text = f"Deleted from {commit.table.schema}.{commit.table.table}: {counted(done.rows, 'row')} of {done.name}."
        events.log("info", text, commit.node)
    for node in add_commit(state.report, commit):
        events.node_finished(node)


def note_file(state: UndoState) -> UndoState:
    """Record that no table contains the file."""
    state.ports.units.mark_deleted([state.undo.sha256], state.undo.reason)
    return state


def raise_cause(state: UndoState, error: BaseException | None) -> None:
    """Replace errors that an interruption causes with the reason for the interruption."""
    if isinstance(error, Failure):
        state.ports.cancellation.check()


UNDO_RUN = (
    START.does(watch_cancellation, raise_fences),
    LOAD.does(delete_rows),
    FINISH.does(note_file),
)


def undo_file(job: RunJob, ports: Ports) -> RunReport:
    """Delete the rows of the job's file, in one transaction per target with a commit marker of its own.

    Returns the report. Raises the `Failure` that ended the run.
    """
    if job.undo is None:
        raise Terminal("file.unknown", "The file of this run no longer exists.", hint="The Files page lists all files.")
    # Of several targets of one table, one deletes the rows. The others have none to delete, and come after it.
    nodes = sorted(job.undo.rows, key=job.undo.rows.__getitem__, reverse=True)
    targets = [_target(job, node) for node in nodes]
    with ExitStack() as stack:
        undos = tuple(stack.enter_context(_opened(job, target)) for target in targets)
        state = UndoState(ports, RunReport(), job.undo, undos)
        state = run_steps(UNDO_RUN, state, ports, targets[0].id, raise_cause)
    return state.report


def _opened(job: RunJob, target: Target) -> AbstractContextManager[Undo]:
    handler = load_destination(target)
    if not handler.capabilities.undo:
        raise handler.unsupported("undoing loads")
    run = RunRef(job.run_id, job.tenant, job.pipeline.id, target.id, job.attempt, job.token)
    return handler.open_undo(job, run, target)


def _target(job: RunJob, node: str) -> Target:
    for target in job.pipeline.targets():
        if target.id == node:
            return target
    raise Terminal(
        "undo.target_gone",
        f"The pipeline no longer has the target {node!r}.",
        hint="Add the target again, then undo the file.",
    )
