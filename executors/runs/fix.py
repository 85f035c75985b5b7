"""A fix of rejected rows by one expression, evaluated as a pipeline's `derive` evaluates it."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from itertools import chain

from executors.errors import Failure, Terminal
from executors.model import RowsRef, RunJob
from executors.ports import Ports
from executors.rejected_rows import Choice, RowPosition
from executors.report import RunReport
from executors.runs.names import LOAD, PASS, START
from executors.runs.replay import choose_rows, open_replay, rows_of, target_of
from executors.runs.runner import EachTarget, RunProcedure, carry_out
from executors.runs.state import Inputs, Run, RunContext
from executors.runs.step import run_steps
from executors.runs.steps.start import open_targets, watch_cancellation
from executors.runs.target_run import TargetRun
from ir.nodes import Transform
from ir.ops import Derive
from ir.pipeline import Path


@dataclass(frozen=True, slots=True)
class FixState:
    """The rows to compute, in an open transaction, and the number of rows changed so far."""

    context: RunContext
    target: TargetRun
    ref: RowsRef
    choice: Choice
    inputs: Inputs
    changed: int = 0
    unchanged: int = 0
    typed: int = 0


def fix_paths(job: RunJob) -> Iterable[tuple[Path, ...]]:
    """Return the paths of a fix: each source without declared types, so that values of any form can be fixed, and the
    expression. The pipeline's own ops run when the rows are replayed."""
    paths, ref = job.pipeline.paths_to(target_of(job)), rows_of(job)
    return [tuple(_fix_path(path, ref) for path in (paths[:1] if ref.row_from == "input" else paths))]


def _fix_path(path: Path, ref: RowsRef) -> Path:
    source = path.source.model_copy(update={"columns": None})
    op = Derive(op="derive", columns={ref.column: ref.expression})
    return Path(source, (Transform(id="fix", kind="transform", inputs=[source.id], ops=[op]),), (), path.target)


def fix_values(state: FixState) -> FixState:
    """Compute the values and store them in the rows, except where a person has edited the value."""
    from executors.spark.fix_values import evaluate

    target, ref, choice = state.target, state.ref, state.choice
    rows, typed = target.handler.rejected_rows(), _typed(target, choice, ref)
    changed = unchanged = 0
    session = state.context.session
    for values in chain.from_iterable(evaluate(session, path, one, ref.column) for path, one in state.inputs):
        wanted = {position: value for position, value in values.items() if position not in typed}
        held = rows.find_texts(target, choice, ref.column, wanted)
        # A row whose value would not change is not fixed.
        others = {p: _held(value) for p, value in wanted.items() if p not in held or held[p] != value}
        changed += rows.fix(state.context.job, target, choice, ref, others)
        unchanged += len(wanted) - len(others)
    return replace(state, changed=changed, unchanged=unchanged, typed=len(typed))


FIX_ROWS = (PASS.does(fix_values), LOAD)


def fix_target(run: Run, target: TargetRun) -> TargetRun:
    """Fix all rows or none."""
    context = run.context
    choice, inputs = choose_rows(run, target)
    if not inputs:
        context.report.nothing_new = not context.report.row_counts.get("fixed")
        return target
    node = target.path.target.id
    state = FixState(context, target, rows_of(context.job), choice, inputs)
    with target.handler.rejected_rows().fixing(target):
        state = run_steps(FIX_ROWS, state, context.ports, node)
    _report(state)
    return target


def _report(state: FixState) -> None:
    not_replayable = len(state.choice.rows) - state.changed - state.unchanged - state.typed
    counts = state.context.report.row_counts
    found = {
        "fixed": state.changed,
        "unchanged": state.unchanged,
        "typed": state.typed,
        "not_replayable": not_replayable,
    }
    for result, rows in found.items():
        if rows:
            counts[result] = counts.get(result, 0) + rows


def _typed(target: TargetRun, choice: Choice, ref: RowsRef) -> set[RowPosition]:
    """Return where a user may have edited the value: it differs from the source's, and the row's last fix was not an
    expression for this column."""
    if ref.replaces_typed:
        return set()
    fixed = target.handler.rejected_rows().find_fixed(target, choice, ref.column)
    return {position for position in fixed if choice.rows[position].row.fix_run not in ref.computed_by}


def _held(value: str | None) -> str | None:
    if value is not None and "\0" in value:
        raise Terminal(
            "fix.value_unusable",
            "The expression returns a NUL character, which cannot be stored.",
            hint="Nothing was changed.",
        )
    return value


def end_without_fix(run: Run, failure: Failure) -> None:
    """Report no row, because none changed, and hide the expression in the failure: users without access to values see
    failures, and a fixing expression may contain values.
    """
    run.context.report.row_counts = {}
    message = failure.message.replace(repr(rows_of(run.context.job).expression), "the expression")
    failure.message = message[:1].upper() + message[1:]
    failure.args = (failure.message,)


FIX_RUN = RunProcedure(
    open_replay,
    (
        START.does(watch_cancellation, open_targets(fix_paths, "sample", "rejected_rows")),
        EachTarget(FIX_ROWS, (fix_target,)),
    ),
    end_without_fix,
)


def fix_rows(job: RunJob, ports: Ports) -> RunReport:
    """Compute the job's expression for each of its rows and store the result in the row's field; the original stays.

    The run fixes all rows or none. It skips rows whose value does not change, rows whose value a person has edited
    (unless the job replaces these), and rows that an earlier attempt has fixed. Returns the report; raises the
    `Failure` that ended the run.
    """
    return carry_out(FIX_RUN, job, ports)
