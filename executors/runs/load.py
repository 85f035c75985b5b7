"""A load: writes new source data into every target of the pipeline."""

from __future__ import annotations

import time
from dataclasses import replace

from executors.commit_report import add_warnings
from executors.errors import Transient
from executors.load_record import LoadCommit
from executors.model import RunJob
from executors.ports import Ports
from executors.reading import Reading, reading_together
from executors.report import RunReport
from executors.runs.load_steps import (
    CHECK,
    GUARD,
    HOLD,
    LOAD,
    LOAD_REMAINING,
    PASS,
    PASS_COLUMNLESS,
    PRE_HOOKS,
    PROBE,
    PROBE_COLUMNLESS,
    PROBE_STAGED,
    QUARANTINE,
    REFUSE,
    REFUSE_FAILING,
    WATERMARK,
)
from executors.runs.names import FINISH, LIST, POST_HOOKS, SCAN, START
from executors.runs.opening import open_run
from executors.runs.runner import EachTarget, RunProcedure, carry_out
from executors.runs.state import Inputs, Run, RunContext
from executors.runs.step import run_steps
from executors.runs.steps.approved import approved_load
from executors.runs.steps.clean_up import end_approved_load, end_columnless_load, end_load
from executors.runs.steps.columnless import (
    blank_warning,
    blank_warnings,
    columnless_load,
    names_no_column,
    with_columns_of,
    without_columns,
)
from executors.runs.steps.finish import archive_loaded, give_up
from executors.runs.steps.outcome import (
    note_nothing_new,
    report_commit,
    report_earlier_commit,
    report_nothing_new,
    run_post_hooks,
)
from executors.runs.steps.prepare import prepared_load
from executors.runs.steps.progress import log_commit
from executors.runs.steps.refuse import has_failed_to_load
from executors.runs.steps.source import read_sources
from executors.runs.steps.start import every_path, open_targets, watch_cancellation
from executors.runs.target_run import TargetRun

STAGE_ROWS = (PROBE, PASS, WATERMARK, REFUSE, CHECK)
LOAD_STAGED = (
    GUARD,
    HOLD,
    PRE_HOOKS,
    QUARANTINE,
    LOAD,
    *(step.only_if(has_failed_to_load) for step in (REFUSE_FAILING, CHECK, GUARD, HOLD, QUARANTINE, LOAD_REMAINING)),
)
LOAD_APPROVED = (PROBE_STAGED, *LOAD_STAGED)
REJECT_COLUMNLESS = (PROBE_COLUMNLESS, PASS_COLUMNLESS)


def load_target(run: Run, target: TargetRun) -> TargetRun:
    """Load one target, unless an earlier attempt of this run has done so."""
    context = run.context
    if target.commit:
        return report_earlier_commit(context, target, target.commit)
    started = time.monotonic()
    if commit := load_approved(context, target):
        target = replace(target, commit=commit)
    else:
        commit = load_new(run, target)
    if commit is None:
        return report_nothing_new(context, target)
    report_commit(context, commit, int((time.monotonic() - started) * 1000))
    log_commit(context.ports.events, commit)
    return replace(target, loaded=commit)


def load_approved(context: RunContext, target: TargetRun) -> LoadCommit | None:
    """Load the approved rows if they are still in staging; otherwise read and validate the source again."""
    node = target.path.target
    staged = context.job.approved.get(node.id)
    if staged is None:
        return None
    state = approved_load(context, target, staged)
    try:
        return run_steps(LOAD_APPROVED, state, context.ports, node.id, end_approved_load).commit
    except Transient as failure:
        if failure.code != "staging.lost":
            raise
        text = f"{failure.message} The source is read and evaluated again."
        context.ports.events.log("warning", text, node.id)
        return None


def load_new(run: Run, target: TargetRun) -> LoadCommit | None:
    """Read the new data of the target and load it. Returns None if there is no new data."""
    inputs = read_sources(run, target)
    if not inputs:
        return None
    if names_no_column(inputs):
        reading = reading_together([one for _, one in inputs])
        return load_columnless(run.context, without_columns(target), reading)
    add_warnings(run.context.report, blank_warnings(inputs))
    return load_rows(run.context, target, inputs)


def load_rows(context: RunContext, target: TargetRun, inputs: Inputs) -> LoadCommit:
    steps = (*STAGE_ROWS, *LOAD_STAGED)
    with prepared_load(context, target, inputs) as state:
        state = run_steps(steps, state, context.ports, target.path.target.id, end_load)
    return state.committed


def load_columnless(context: RunContext, target: TargetRun, reading: Reading) -> LoadCommit | None:
    """Load nothing from blank files, into a table that exists. Fail if records of other files have no field."""
    node = target.path.target
    if not reading.is_blank:
        state = columnless_load(context, target, reading)
        return run_steps(REJECT_COLUMNLESS, state, context.ports, node.id, end_columnless_load).commit
    add_warnings(context.report, [blank_warning(target.path.source.id, reading)])
    table = target.handler.find_table(target)
    if table is None:
        return None
    return load_rows(context, target, [with_columns_of(target, reading, table)])


LOAD_RUN = RunProcedure(
    open_run,
    (
        START.does(
            watch_cancellation,
            open_targets(every_path, "load"),
        ),
        EachTarget(
            (LIST, SCAN, *STAGE_ROWS, *LOAD_STAGED, POST_HOOKS), (load_target, run_post_hooks, note_nothing_new)
        ),
        FINISH.does(archive_loaded),
    ),
    give_up,
)


def run_pipeline(job: RunJob, ports: Ports) -> RunReport:
    """Run one attempt.

    Returns its report. Raises the `Failure` that ended it, with the report so far as `report`.
    """
    return carry_out(LOAD_RUN, job, ports)
