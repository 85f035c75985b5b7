"""A recheck: reports what a replay would do with rejected rows, without a fence, a commit or any change to the rows."""

from __future__ import annotations

from functools import partial

from executors.model import RunJob
from executors.ports import Ports
from executors.report import RunReport
from executors.runs.load_steps import CHECK, EFFECT_OF_REPLAY, PASS, PROBE_LOOK, REFUSE_AND_COMPARE
from executors.runs.names import START
from executors.runs.replay import NOTHING_WORDS, choose_rows, open_replay, replay_paths, rows_of, target_of
from executors.runs.runner import EachTarget, RunProcedure, carry_out
from executors.runs.state import RejectedRows, Run
from executors.runs.step import run_steps
from executors.runs.steps.clean_up import end_read_only
from executors.runs.steps.outcome import note_nothing_new, report_nothing_new
from executors.runs.steps.prepare import prepared_read_only
from executors.runs.steps.start import open_targets, watch_cancellation
from executors.runs.target_run import TargetRun

RECHECK_ROWS = (PROBE_LOOK, PASS, REFUSE_AND_COMPARE, CHECK, EFFECT_OF_REPLAY)


def recheck_target(run: Run, target: TargetRun) -> TargetRun:
    """Determine the result of each row, then drop staging."""
    context = run.context
    choice, inputs = choose_rows(run, target)
    if not inputs:
        return report_nothing_new(context, target, NOTHING_WORDS)
    rows = RejectedRows(rows_of(context.job), choice, target_of(context.job))
    with prepared_read_only(context, target, inputs, rows) as state:
        run_steps(RECHECK_ROWS, state, context.ports, rows.target.id, end_read_only)
    return target


RECHECK_RUN = RunProcedure(
    partial(open_replay, read_only=True),
    (
        START.does(watch_cancellation, open_targets(replay_paths, "preview", "previews", "rejected_rows")),
        EachTarget(RECHECK_ROWS, (recheck_target, note_nothing_new)),
    ),
)


def recheck_rows(job: RunJob, ports: Ports) -> RunReport:
    """Report what a replay would do with the rows of the job, without loading them."""
    return carry_out(RECHECK_RUN, job, ports)
