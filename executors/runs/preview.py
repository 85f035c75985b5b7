"""A preview: reports what a load would change, without loading, claiming or moving anything."""

from __future__ import annotations

from executors.commit_report import add_warnings
from executors.model import RunJob
from executors.ports import Ports
from executors.reading import Reading, reading_together
from executors.report import RunReport
from executors.runs.load_steps import (
    CHECK,
    EFFECT,
    GUARD,
    PASS,
    PASS_COLUMNLESS,
    PROBE_COLUMNLESS,
    PROBE_LOOK,
    REFUSE,
    WATERMARK,
)
from executors.runs.names import LIST, SCAN, START
from executors.runs.opening import open_read_only
from executors.runs.runner import EachTarget, RunProcedure, carry_out
from executors.runs.state import Inputs, Run, RunContext
from executors.runs.step import run_steps
from executors.runs.steps.clean_up import end_read_only
from executors.runs.steps.columnless import (
    blank_warning,
    blank_warnings,
    columnless_load,
    names_no_column,
    with_columns_of,
    without_columns,
)
from executors.runs.steps.outcome import note_nothing_new, report_nothing_new
from executors.runs.steps.prepare import prepared_read_only
from executors.runs.steps.source import read_sources
from executors.runs.steps.start import every_path, open_targets, watch_cancellation
from executors.runs.target_run import TargetRun

COUNT_EFFECT = (PROBE_LOOK, PASS, WATERMARK, REFUSE, CHECK, GUARD, EFFECT)
PREVIEW_COLUMNLESS = (PROBE_COLUMNLESS, PASS_COLUMNLESS)


def preview_target(run: Run, target: TargetRun) -> TargetRun:
    """Count the changes in one target."""
    inputs = read_sources(run, target)
    if not inputs:
        return report_nothing_new(run.context, target)
    if names_no_column(inputs):
        return preview_columnless(run.context, target, reading_together([one for _, one in inputs]))
    add_warnings(run.context.report, blank_warnings(inputs))
    preview_rows(run.context, target, inputs)
    return target


def preview_rows(context: RunContext, target: TargetRun, inputs: Inputs) -> None:
    with prepared_read_only(context, target, inputs) as state:
        effect = run_steps(COUNT_EFFECT, state, context.ports, target.path.target.id, end_read_only).effect
    if effect:
        context.report.effects.append(effect)


def preview_columnless(context: RunContext, target: TargetRun, reading: Reading) -> TargetRun:
    node, bare = target.path.target, without_columns(target)
    if not reading.is_blank:
        run_steps(PREVIEW_COLUMNLESS, columnless_load(context, bare, reading), context.ports, node.id, end_read_only)
    add_warnings(context.report, [blank_warning(target.path.source.id, reading)])
    table = target.handler.find_table(target)
    if table is None:
        return report_nothing_new(context, target)
    preview_rows(context, bare, [with_columns_of(bare, reading, table)])
    return target


PREVIEW_RUN = RunProcedure(
    open_read_only,
    (
        START.does(watch_cancellation, open_targets(every_path, "preview", "previews")),
        EachTarget((LIST, SCAN, *COUNT_EFFECT), (preview_target, note_nothing_new)),
    ),
)


def preview_pipeline(job: RunJob, ports: Ports) -> RunReport:
    """Report what a run of this pipeline would change now, as the report's `effects` for each target.

    Raises the `Failure` that would end the run. A preview takes no fence, claims and moves no file, loads no row and
    leaves no staging behind.
    """
    return carry_out(PREVIEW_RUN, job, ports)
