"""A fix of rejected rows by one expression, evaluated as a pipeline's `derive` evaluates it."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from executors.errors import Failure, Terminal
from executors.model import RowsRef, RunJob, RunReport
from executors.ports import Ports
from executors.postgres.client import translate
from executors.postgres.ddl import Conn
from executors.postgres.quarantined import change_of, change_rows, fixed_in, texts_of
from executors.reading import Reading
from executors.rejected_rows import Choice, RowPosition
from executors.runs.names import LOAD, PASS, START
from executors.runs.replay import choose_rows, open_replay, rows_of, target_of
from executors.runs.runner import EachTarget, RunKind, carry_out
from executors.runs.state import Run, RunContext
from executors.runs.step import run_steps
from executors.runs.steps.rejected import owner_of
from executors.runs.steps.start import open_targets, watch_cancellation
from executors.runs.target_run import TargetRun
from ir.nodes import Transform
from ir.ops import Derive
from ir.pipeline import Path

if TYPE_CHECKING:
    from executors.spark.fix_values import Values


@dataclass(frozen=True, slots=True)
class FixState:
    """The rows whose values are computed, in an open transaction, and how many were changed so far."""

    context: RunContext
    target: TargetRun
    ref: RowsRef
    choice: Choice
    reading: Reading
    changed: int = 0
    unchanged: int = 0
    typed: int = 0


def fix_paths(job: RunJob) -> Iterable[Path]:
    """The source as it is, so that what is no value of a declared type can be fixed too, and the expression; the
    pipeline's own ops come when the rows are replayed."""
    path, ref = job.pipeline.path_to(target_of(job)), rows_of(job)
    source = path.source.model_copy(update={"columns": None})
    op = Derive(op="derive", columns={ref.column: ref.expression})
    return [Path(source, (Transform(id="fix", kind="transform", inputs=[source.id], ops=[op]),), (), path.target)]


def fix_values(state: FixState) -> FixState:
    """Compute the values and put them into the rows, but for values that somebody has typed."""
    from executors.spark.fix_values import evaluate

    conn, ref, choice = state.target.connection, state.ref, state.choice
    typed = _typed(conn, choice, ref)
    changed = unchanged = 0
    for values in evaluate(state.context.session, state.target.path, state.reading, ref.column):
        wanted = {place: value for place, value in values.items() if place not in typed}
        others = _others(conn, choice, ref, wanted)
        changed += _write(state.context.job, conn, choice, ref, others)
        unchanged += len(wanted) - len(others)
    return replace(state, changed=changed, unchanged=unchanged, typed=len(typed))


FIX_ROWS = (PASS.does(fix_values), LOAD)


def fix_target(run: Run, target: TargetRun) -> TargetRun:
    """Fix all rows or none."""
    context = run.context
    choice, reading = choose_rows(context, target)
    if reading is None:
        context.report.nothing_new = not context.report.row_counts.get("fixed")
        return target
    node = target.path.target.id
    state = FixState(context, target, rows_of(context.job), choice, reading)
    with translate(node), target.connection.transaction():
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


def _typed(conn: Conn, choice: Choice, ref: RowsRef) -> set[RowPosition]:
    """Where somebody may have typed the value by hand: it is not the source's, and the row's last fix was no
    expression for this column."""
    if ref.replaces_typed:
        return set()
    found: set[RowPosition] = set()
    for table, rows in choice.by_table.items():
        fixed = fixed_in(conn, table, [row.id for row in rows.values()], ref.column)
        found |= {p for p, row in rows.items() if row.id in fixed and row.fix_run not in ref.computed_by}
    return found


def _others(conn: Conn, choice: Choice, ref: RowsRef, values: Values) -> Values:
    """The values that are not what their rows hold already: a row is not fixed by what it had."""
    held: dict[tuple[str, str], str | None] = {}
    by_table = defaultdict(list)
    for place in values:
        by_table[choice.rows[place].table].append(choice.rows[place].row)
    for table, rows in by_table.items():
        texts = texts_of(conn, table, [row.id for row in rows], ref.column)
        held |= {row.key: texts[row.id] for row in rows if row.id in texts}
    keys = {place: choice.rows[place].row.key for place in values}
    return {place: value for place, value in values.items() if keys[place] not in held or held[keys[place]] != value}


def _write(job: RunJob, conn: Conn, choice: Choice, ref: RowsRef, values: Values) -> int:
    """Rows that cannot be read as such, and those that somebody has changed meanwhile, are left as they are."""
    owner, change = owner_of(job), change_of("fix", ref.by, ref.reason, job.run_id)
    rows = {place: choice.rows[place].row for place in values}
    cells = {row.key: {ref.column: _held(values[place])} for place, row in rows.items()}
    return len(change_rows(conn, owner, choice.tables, list(rows.values()), change, cells))


def _held(value: str | None) -> str | None:
    if value is not None and "\0" in value:
        raise Terminal(
            "fix.value_unusable",
            "The expression gives a NUL character, which cannot be kept.",
            hint="Nothing was changed.",
        )
    return value


def end_without_fix(run: Run, failure: Failure) -> None:
    """Report no row, because none was changed, and hide the expression: who sees no values is told why a run ended, and
    an expression that fixes rows may quote theirs."""
    run.context.report.row_counts = {}
    message = failure.message.replace(repr(rows_of(run.context.job).expression), "the expression")
    failure.message = message[:1].upper() + message[1:]
    failure.args = (failure.message,)


FIX_RUN = RunKind(
    open_replay,
    (
        START.does(watch_cancellation, open_targets(fix_paths, "sample", "rejected_rows")),
        EachTarget(FIX_ROWS, (fix_target,)),
    ),
    end_without_fix,
)


def fix_rows(job: RunJob, ports: Ports) -> RunReport:
    """Compute the job's expression for each of its rows and put the value into the row's field; the original stays.

    All rows are fixed or none; a row whose value comes out as it is stays as it is, and so does one whose value
    somebody has typed, unless the job says otherwise. Those that an attempt before this one has fixed are not computed
    again. Returns what was done; raises the `Failure` that ended it.
    """
    return carry_out(FIX_RUN, job, ports)
