"""The runs of a backfill: one plans its chunks, each chunk is a load of its own, and the last one ends the backfill."""

from __future__ import annotations

from dataclasses import replace

from executors.backfill.extents import ChunkCounting
from executors.backfill.planning import Wanted, plan_chunks
from executors.commit_report import add_warnings
from executors.destinations.base import BackfillTarget
from executors.errors import Terminal, of_node
from executors.model import BackfillMark, Chunk, ChunkPlan, ChunkRange, RunJob, SourceState
from executors.ports import Ports
from executors.pushdown import source_column
from executors.report import RunReport, RunWarning
from executors.runs.chunk_warnings import added_warning, gone_warnings, moved_warning
from executors.runs.load import LOAD_RUN
from executors.runs.names import COUNT, LOAD, PLAN, START
from executors.runs.opening import open_run
from executors.runs.runner import EachTarget, RunProcedure, carry_out
from executors.runs.state import Run, RunContext
from executors.runs.step import enter
from executors.runs.steps.outcome import report_commit
from executors.runs.steps.start import every_path, open_targets, watch_cancellation
from executors.runs.target_run import TargetRun
from executors.sources import load_snapshot_source
from executors.sources.base import SnapshotSource, SourceContext
from ir.backfill import Backfill, BackfillHint
from ir.backfills import hint_of
from ir.cursor_values import axis_of
from ir.load_modes import load_mode
from ir.nodes import Source, Target
from ir.pipeline import Pipeline
from ir.types import ColumnType
from ir.watermarks import parse_lag
from ir.words import counted


def plan_backfill(job: RunJob, ports: Ports) -> RunReport:
    """Plan the chunks of a backfill, or those of a rewind, in `plan` of the report. Nothing is loaded."""
    return carry_out(PLAN_RUN, job, ports)


def load_chunk(job: RunJob, ports: Ports) -> RunReport:
    """Load the chunk of the job. A target with a watermark only gets the rows added, because the end of the backfill
    sets its mark; no chunk is backed up, because its rows can be loaded again."""
    pipeline, chunk = _for_chunk(job.pipeline), job.chunk
    if chunk is not None:
        chunk = replace(chunk, sums=_adds_rows(pipeline))
    return carry_out(LOAD_RUN, replace(job, pipeline=pipeline, chunk=chunk), ports)


def finish_backfill(job: RunJob, ports: Ports) -> RunReport:
    """Compare the chunks with the source, and let the target continue at the mark of the job."""
    return carry_out(FINISH_RUN, job, ports)


# --- plan -----------------------------------------------------------------------------------------------------------


def plan_each(run: Run) -> Run:
    """Plan the chunks of the one source and the one target that a pipeline with a backfill has."""
    context, (target,) = run.context, run.targets
    job, node = context.job, target.path.target
    known = target.handler.open_backfill(context, target, is_rewind=job.chunk_range is not None)
    hint = _hint(target.path.source)
    if hint.is_parallel:
        source = _open_source(context, target.path.source)
        with of_node(target.path.source.id):
            plan = plan_chunks(source, _wanted(job, target, known, hint, source.cursor_column))
        if plan.is_empty and known.bound is not None:
            raise _would_be_deleted(target.path.source, node)
    else:
        plan = _undivided(job, target.path.source)
    context.report.plan = plan
    below = f" below {plan.column} {plan.cut}" if plan.cut is not None else ""
    text = f"{counted(len(plan.chunks), 'chunk')}{below}."
    context.log(text, node)
    if job.chunk_range is not None:
        add_warnings(context.report, _range_warnings(job.chunk_range, plan, node.id))
    elif plan.leaves_nulls:
        add_warnings(context.report, [_nulls_warning(target.path.source, plan)])
    return run


def _nulls_warning(source: Source, plan: ChunkPlan) -> RunWarning:
    return RunWarning(
        "backfill.nulls_left",
        source.id,
        f"The source has rows with NULL in {plan.column}, which no chunk has. The loads after the backfill read them, "
        "and each refuses them.",
    )


def _would_be_deleted(source: Source, target: Target) -> Terminal:
    table = f"{target.schema_}.{target.table}"
    return Terminal(
        "source.empty",
        f"{source.id} has no row at all, and the rows of the range in {table} would be deleted. Nothing was changed.",
        node=target.id,
        hint="Check the source. If its rows are meant to be gone, delete them from the table too.",
    )


def _range_warnings(range_: ChunkRange, plan: ChunkPlan, node: str) -> list[RunWarning]:
    """Warn of a range that has no chunks, or ends before the end that a person has given."""
    if plan.cut is None:
        text = "The source has no rows, and the range has no end: nothing is loaded again, and no row is deleted."
        return [RunWarning("backfill.range_cut", node, text)]
    axis = axis_of(ColumnType.parse(plan.kind))
    if range_.upper is None or axis is None or axis.position(range_.upper) <= axis.position(plan.cut):
        return []
    text = (
        f"The range ends at {plan.cut}, where the next load of the target begins, and not at {range_.upper}: the next "
        "load reads the rows from there on."
    )
    return [RunWarning("backfill.range_cut", node, text)]


def _undivided(job: RunJob, source: Source) -> ChunkPlan:
    """Return the plan for a source that can only be read from its beginning to its end: one chunk, which is loaded as a
    whole or not at all. Raises Terminal `backfill.not_supported` for a range."""
    if job.chunk_range is not None:
        raise Terminal(
            "backfill.not_supported",
            f"{source.id} cannot be read from one value to another.",
            node=source.id,
            hint="Load everything again, with a reason. A web service may have a parameter for until in incremental.",
        )
    return ChunkPlan("opaque-token", "", "", None, None, (Chunk(1, ""),))


def _wanted(job: RunJob, target: TargetRun, known: BackfillTarget, hint: BackfillHint, default: str | None) -> Wanted:
    node, spec = target.path.target, job.pipeline.backfill or Backfill()
    column = _cursor_column(spec, target, known, default)
    lag = parse_lag(node.watermark_lag) if known.column is not None and node.watermark_lag is not None else None
    return Wanted(
        spec,
        hint,
        column,
        known.latest,
        takes_nulls=known.column is None,
        lag=lag,
        type=known.type,
        range=job.chunk_range,
        bound=known.bound,
    )


def _cursor_column(spec: Backfill, target: TargetRun, known: BackfillTarget, default: str | None) -> str:
    """Return the column of the source by which the chunks are divided. A target with a watermark continues where they
    end, so it must follow the same values."""
    followed = source_column(target.path, known.column) if known.column is not None else None
    column = spec.column or followed or known.column or default
    if column is None:
        raise Terminal(
            "backfill.column_required",
            "Nothing names the cursor column of the backfill.",
            node=target.path.source.id,
            hint="Set column in backfill.",
        )
    if known.column is not None and followed != column:
        raise Terminal(
            "backfill.column_differs",
            f"The target follows {known.column!r}, which is not {column!r} of the source unchanged.",
            node=target.path.target.id,
            hint="Divide the backfill by the column that becomes the watermark, and pass it on unchanged.",
        )
    return column


def _hint(source: Source) -> BackfillHint:
    hint = hint_of(source)
    if hint is None:
        raise Terminal(
            "backfill.not_supported",
            f"Sources of the kind {source.connector} cannot be divided into chunks.",
            node=source.id,
            hint="Remove backfill from the pipeline: its first run loads everything at once.",
        )
    return hint


def _open_source(context: RunContext, source: Source) -> SnapshotSource:
    handler = load_snapshot_source(source, SourceContext.of(context.job, source))
    context.interrupts.add(handler.interrupt)
    handler.open(context.stack)
    return handler


PLAN_RUN = RunProcedure(
    open_run,
    (START.does(watch_cancellation, open_targets(every_path, "load", "backfills")), PLAN.does(plan_each)),
)


# --- chunks ---------------------------------------------------------------------------------------------------------


def _for_chunk(pipeline: Pipeline) -> Pipeline:
    nodes = [_added_to(node) if isinstance(node, Target) else node for node in pipeline.nodes]
    return pipeline.model_copy(update={"nodes": nodes})


def _adds_rows(pipeline: Pipeline) -> bool:
    return any(load_mode(target.load_mode).adds_rows for target in pipeline.targets())


def _added_to(target: Target) -> Target:
    mode = "append" if load_mode(target.load_mode).keeps_watermark else target.load_mode
    return target.model_copy(update={"load_mode": mode, "backup_before_load": False})


# --- the end --------------------------------------------------------------------------------------------------------


def end_target(run: Run, target: TargetRun) -> TargetRun:
    """Count the rows of the chunks again and store the mark, unless an earlier attempt of this run has done so."""
    context, mark = run.context, run.context.job.backfill_mark
    if mark is None:
        raise ValueError("the run has no mark")
    commit = target.commit
    if commit is None:
        node, source = target.path.target.id, target.path.source
        enter(COUNT, context.ports, node)
        handler = load_snapshot_source(source, SourceContext.of(context.job, source))
        if handler.can_count:
            _compare(context, target, mark)
        add_warnings(context.report, gone_warnings(target, mark))
        enter(LOAD, context.ports, node)
        commit = target.handler.finish_backfill(context, target, mark, _state(context, target, handler, mark))
    report_commit(context, commit)
    return replace(target, loaded=commit)


def _state(context: RunContext, target: TargetRun, source: SnapshotSource, mark: BackfillMark) -> SourceState | None:
    """Return where the next load of the source begins: at the cut, or where the only chunk has ended."""
    if mark.cut is not None and mark.mark is not None:
        return source.state_at(mark.cut)
    found = target.handler.find_state(context.job, target, target.path.source.id)
    return found[1] if found is not None else None


def _compare(context: RunContext, target: TargetRun, mark: BackfillMark) -> None:
    """Report chunks whose rows have changed in the source since they were read. Rows that were added there are missing
    in the target; rows that are gone have moved above the cut, or were deleted."""
    if not mark.chunks:
        return
    source = _open_source(context, target.path.source)
    cursor = source.cursor_of(mark.column)
    counting = ChunkCounting.of(cursor, mark.chunks)
    adds_rows = load_mode(target.path.target.load_mode).adds_rows
    sums = target.handler.find_cursor_sums(target, mark.chunks) if adds_rows else {}
    changes = list(counting.changes(source.count_rows(counting), sums))
    context.report.chunk_changes = changes
    if added := [change for change in changes if change.rows_now > change.rows_read]:
        add_warnings(context.report, [added_warning(target.path.source, added)])
    if adds_rows and (moved := [change for change in changes if change.rows_now <= change.rows_read]):
        add_warnings(context.report, [moved_warning(target.path.source, mark.column, moved)])


FINISH_RUN = RunProcedure(
    open_run,
    (
        START.does(watch_cancellation, open_targets(every_path, "load", "backfills")),
        EachTarget((COUNT, LOAD), (end_target,)),
    ),
)
