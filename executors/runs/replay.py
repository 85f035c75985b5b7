"""A replay: sends rejected rows through the current ops, rules and sink, and adds them to the target.

A replay is a separate run with its own fence, staging, transaction and commit marker. It does not move the watermark of
an incremental target. If each run replaces the target, the replayed rows stay only until the next run.
"""

from __future__ import annotations

import time
from collections.abc import Iterable
from contextlib import ExitStack
from dataclasses import replace

from executors.errors import Terminal
from executors.load_record import LoadCommit
from executors.model import RowsRef, RunJob
from executors.ports import Ports
from executors.rejected_rows import Choice
from executors.report import RunReport
from executors.runs.load_steps import (
    CHECK,
    LOAD_REJECTED,
    PASS,
    PRE_HOOKS_OF_REPLAY,
    PROBE,
    QUARANTINE,
    REFUSE_REJECTED,
)
from executors.runs.names import FINISH, POST_HOOKS, START
from executors.runs.opening import open_session, run_of
from executors.runs.rejected_reader import RejectedRowsReader
from executors.runs.replay_path import replay_path, require_replayable
from executors.runs.runner import EachTarget, RunProcedure, carry_out
from executors.runs.state import Inputs, RejectedRows, Run, RunContext
from executors.runs.step import run_steps
from executors.runs.steps.clean_up import end_replay
from executors.runs.steps.outcome import (
    note_nothing_new,
    report_commit,
    report_earlier_commit,
    report_nothing_new,
    run_post_hooks,
)
from executors.runs.steps.prepare import prepared_load
from executors.runs.steps.progress import log_commit
from executors.runs.steps.source import with_references
from executors.runs.steps.start import open_targets, watch_cancellation
from executors.runs.target_run import TargetRun
from ir.nodes import Target
from ir.pipeline import Path

LOAD_REJECTED_ROWS = (PROBE, PASS, REFUSE_REJECTED, CHECK, PRE_HOOKS_OF_REPLAY, QUARANTINE, LOAD_REJECTED)
NOTHING_WORDS = "Nothing to replay into"


def rows_of(job: RunJob) -> RowsRef:
    """Return the rejected rows of a job. Raises Terminal `replay.gone`."""
    if job.rows is None:
        raise Terminal("replay.gone", "The rows of this replay are no longer known.", hint="Choose the rows again.")
    return job.rows


def target_of(job: RunJob) -> Target:
    """Return the target that rejected the rows, as the current document defines it. Raises Terminal
    `replay.target_gone`.
    """
    node = rows_of(job).node
    for target in job.pipeline.targets():
        if target.id == node:
            return target
    raise Terminal(
        "replay.target_gone",
        f"The pipeline no longer has the target {node!r}.",
        hint="Add the target again, or ignore the rows.",
    )


def replay_paths(job: RunJob) -> Iterable[tuple[Path, ...]]:
    """Return the paths of the rows to their target. Other targets take no part. Rows in the form of the target's input
    need one path, whatever their source."""
    paths, ref = job.pipeline.paths_to(target_of(job)), rows_of(job)
    for path in paths:
        require_replayable(path, ref.row_from)
    return [tuple(replay_path(path, ref) for path in (paths[:1] if ref.row_from == "input" else paths))]


def open_replay(job: RunJob, ports: Ports, stack: ExitStack, *, read_only: bool = False) -> Run:
    reader = RejectedRowsReader(job, rows_of(job))
    return run_of(job, ports, stack, open_session(job, stack), reader, read_only=read_only)


def choose_rows(run: Run, target: TargetRun) -> tuple[Choice, Inputs]:
    """Return the requested rows and the readings of those that can be loaded."""
    context = run.context
    choice, inputs = target.handler.rejected_rows().choose(context.job, target, rows_of(context.job))
    context.report.row_counts = choice.excluded_counts
    return choice, with_references(run, target, inputs)


def replay_target(run: Run, target: TargetRun) -> TargetRun:
    """Load the rejected rows, unless an earlier attempt of this run has done so."""
    context = run.context
    if target.commit:
        return report_earlier_commit(context, target, target.commit)
    started = time.monotonic()
    choice, inputs = choose_rows(run, target)
    if not inputs:
        target.handler.rejected_rows().keep_results(context.run_ref(target.path.target), target, choice)
        return report_nothing_new(context, target, NOTHING_WORDS)
    commit = load_rejected(context, target, choice, inputs)
    report_commit(context, commit, int((time.monotonic() - started) * 1000))
    log_commit(context.ports.events, commit)
    return replace(target, loaded=commit)


def load_rejected(context: RunContext, target: TargetRun, choice: Choice, inputs: Inputs) -> LoadCommit:
    rows = RejectedRows(rows_of(context.job), choice, target_of(context.job))
    with prepared_load(context, target, inputs, rows) as state:
        state = run_steps(LOAD_REJECTED_ROWS, state, context.ports, rows.target.id, end_replay)
    return state.committed


REPLAY_RUN = RunProcedure(
    open_replay,
    (
        START.does(
            watch_cancellation,
            open_targets(replay_paths, "load", "rejected_rows"),
        ),
        EachTarget((*LOAD_REJECTED_ROWS, POST_HOOKS), (replay_target, run_post_hooks, note_nothing_new)),
        FINISH,
    ),
)


def replay_rows(job: RunJob, ports: Ports) -> RunReport:
    """Load the rejected rows of the job and return the report. Raises the `Failure` that ended the run."""
    return carry_out(REPLAY_RUN, job, ports)
