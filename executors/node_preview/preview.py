"""Previews one node: reads a part of the source, evaluates it as a run does, and returns the result of each row."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from executors import accounting
from executors.charsets import UTF8, Charset
from executors.destinations import load_destination
from executors.destinations.base import own_columns
from executors.errors import Cancelled, Failure
from executors.model import RulePlan, StageColumn
from executors.node_preview.model import NodePreview, NodePreviewJob, RulePreview
from executors.node_preview.rows import left_at, order_of, profile, reaches, row_preview
from executors.node_preview.source import MOST_ROWS, Excerpt, read_excerpt, read_references
from executors.ports import Cancellation
from executors.reading import Reading
from executors.rules import require_rule_columns
from executors.runs.interrupts import Interrupts
from ir.nodes import Target, Validate
from ir.ops import Deduplicate, Window
from ir.pipeline import Path
from ir.rules import rule_id
from ir.types import ColumnType
from ir.words import counted

if TYPE_CHECKING:
    from executors.spark.compiled import Compiled, Working
    from executors.spark.node_rows import NodeRow, NodeRows
    from executors.spark.session import RunSession

MOST_SHOWN = 200


def preview_node(job: NodePreviewJob, cancellation: Cancellation) -> NodePreview:
    """Preview a node. The preview does not claim, move or write anything. Raises the `Failure` that would end a run at
    the node or before it, and the errors of `cancellation`."""
    from executors.spark.session import RunSession

    interrupts = Interrupts()
    cancellation.on_cancel(interrupts.interrupt)
    try:
        with ExitStack() as stack:
            session = stack.enter_context(RunSession(pool="previews", modules=job.modules))
            interrupts.add(session.interrupt)
            target = job.pipeline.targets()[0]  # other targets are stand-ins for other branches
            path = job.pipeline.path_to(target)
            excerpt = read_excerpt(job, path.source, stack, interrupts, cancellation)
            cancellation.check()

            def evaluate(job: NodePreviewJob, path: Path) -> NodePreview:
                found = read_references(job, path, stack, interrupts, cancellation)
                cancellation.check()
                return _evaluated(job, session, path, _with_references(excerpt, found))

            return _preview(job, path, excerpt, evaluate)
    except Failure:
        cancellation.check()  # the errors of interrupted work do not contain the reason
        raise


def _with_references(excerpt: Excerpt, found: Mapping[str, Excerpt]) -> Excerpt:
    reading = replace(excerpt.reading, references={name: one.reading for name, one in found.items()})
    notes = tuple(f"Looked up in {name}: {one.extent}" for name, one in found.items())
    return replace(excerpt, reading=reading, references=notes)


def _preview(
    job: NodePreviewJob, path: Path, excerpt: Excerpt, evaluate: Callable[[NodePreviewJob, Path], NodePreview]
) -> NodePreview:
    """Evaluate the whole path, because later nodes can affect the result of a row at the node. If a later node fails,
    the path ends at the node."""
    if excerpt.reading.is_blank or not excerpt.reading.fields:
        kind = job.pipeline.node(job.node).kind
        return NodePreview(job.node, kind, job.sample, "The source is empty.", 0, 0, 0, 0, 0)
    try:
        return evaluate(job, path)
    except Cancelled:
        raise
    except Failure as failure:
        order = order_of(path)
        if order.get(failure.node or "", 0) <= order[job.node]:
            raise
        why = f"Nodes after {job.node} are ignored, because {failure.node} has an error: {failure.message}"
        return evaluate(replace(job, without_target=why), _up_to(path, job.node))


def _up_to(path: Path, node: str) -> Path:
    """Return the path up to the node. It keeps the target for its settings."""
    order = order_of(path)
    last = order[node]
    transforms = tuple(transform for transform in path.transforms if order[transform.id] <= last)
    validates = tuple(v for v in path.validates if order[v.id] <= last)
    return Path(path.source, transforms, validates, path.target, path.references)


def _evaluated(job: NodePreviewJob, session: RunSession, path: Path, excerpt: Excerpt) -> NodePreview:
    plan = _plan(job, session, path, excerpt.reading)
    return _shown(job, plan, _node_rows(job, session, plan), excerpt)


# --- what is evaluated --------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Plan:
    path: Path
    reading: Reading
    compiled: Compiled
    columns: tuple[StageColumn, ...]
    charset: Charset


def _plan(job: NodePreviewJob, session: RunSession, path: Path, reading: Reading) -> _Plan:
    """Return the same plan as a run's. Raises Failure for the node that cannot be run."""
    from executors.spark.columns import compile_path

    compiled = compile_path(session, path, reading.fields, observe=job.node, references=reading.references)
    require_rule_columns(path.validates, [column.name for column in compiled.fields])
    target = path.target
    if job.without_target:
        return _Plan(path, reading, compiled, own_columns(target, compiled.fields), UTF8)
    try:
        handler, connection = load_destination(target), job.connections[target.connection]
        columns, charset = handler.plan_columns(connection, target, compiled.fields)
    except Failure as failure:
        failure.node = failure.node or target.id
        raise
    return _Plan(path, reading, compiled, columns, charset)


def _node_rows(job: NodePreviewJob, session: RunSession, plan: _Plan) -> NodeRows:
    from executors.spark.node_rows import node_rows
    from executors.spark.one_pass import FailedRow, PassPlan

    path, is_failing = plan.path, job.sample == "failing"
    pass_plan = PassPlan(
        path=path,
        reading=plan.reading,
        compiled=plan.compiled,
        stage_columns=plan.columns,
        rules=tuple(RulePlan(v.id, rule_id(rule), rule) for v in path.validates for rule in v.row_level),
        on_type_mismatch=path.target.on_type_mismatch,
        run_id=job.id,
        charset=plan.charset,
    )
    try:
        return node_rows(session, pass_plan, failing_only=is_failing, most=MOST_SHOWN if is_failing else MOST_ROWS)
    except FailedRow as failed:
        raise failed.failure from None


# --- what is shown ------------------------------------------------------------------------------------------------


def _shown(job: NodePreviewJob, plan: _Plan, found: NodeRows, excerpt: Excerpt) -> NodePreview:
    node, order = job.pipeline.node(job.node), order_of(plan.path)
    rows = [row for row in found.rows if reaches(row, node.id, order) and _is_made(row, node.id, plan.path, order)]
    if job.sample == "failing":
        rows.sort(key=lambda row: left_at(row) is None)  # lost rows first
    before, after = _types(job, plan)
    names = {origin.seq: origin.name for origin in plan.reading.origins}
    left = [found.result.at_nodes(name).total() for name in ("filtered_at", "elsewhere_at", "grouped_at")]
    read = found.result.total("rows_arrived") + sum(left) - found.result.total("rows_exploded")
    return NodePreview(
        node=node.id,
        kind=node.kind,
        sample=job.sample,
        extent=excerpt.extent,
        rows_read=read,
        **_counts(plan.path, node.id, read, found),
        before=profile(
            before, (row.before for row in rows if row.raw is None and not _repeats(row, node.id, plan.path))
        ),
        after=profile(after, (_after(row) for row in rows if left_at(row) != node.id)),
        rules=tuple(_rules(plan.path, node.id, found)),
        rows=tuple(
            row_preview(row, node.id, (tuple(before), tuple(after)), names.get(row.file, ""))
            for row in rows[:MOST_SHOWN]
        ),
        notes=(
            *_branch_notes(plan.path, node.id, read, found),
            *_join_notes(plan.path, node.id, read, found),
            *_group_notes(plan.path, node.id, read, found),
            *_notes(job, plan),
            *excerpt.references,
        ),
        **_units(plan.path, node.id, order),
    )


def _units(path: Path, node: str, order: Mapping[str, int]) -> dict[str, Any]:
    """Return what the counts of a node count: records until they are exploded, then rows."""
    if path.explode is None:
        return {}
    exploded_at = order[path.explode[0]]
    return {
        "unit_in": "record" if order[node] <= exploded_at else "row",
        "unit_out": "record" if order[node] < exploded_at else "row",
        "unit_rejected": "record",
    }


def _is_made(row: NodeRow, node: str, path: Path, order: Mapping[str, int]) -> bool:
    """Return whether a row exists at the node: before it is exploded, a record is one row."""
    is_before = path.explode is not None and order[node] < order[path.explode[0]]
    return not (is_before and row.element)


def _repeats(row: NodeRow, node: str, path: Path) -> bool:
    """Return whether a row has the same values before the node as another one, because the node explodes both from one
    record."""
    return path.explode is not None and node == path.explode[0] and bool(row.element)


def _after(row: NodeRow) -> dict[str, object]:
    return row.after if row.staged is None else row.staged


def _types(job: NodePreviewJob, plan: _Plan) -> tuple[dict[str, ColumnType], dict[str, ColumnType]]:
    """Return the columns before and after the node, with their types."""
    seen = plan.compiled.observed
    if seen is None:
        raise LookupError("the path is compiled without a node to look at")
    if job.node == plan.path.target.id:
        return _types_of(seen.before), {column.name: column.type for column in plan.columns}
    return _types_of(seen.before), _types_of(seen.after)


def _types_of(working: dict[str, Working]) -> dict[str, ColumnType]:
    return {name: column.type for name, column in working.items()}


def _counts(path: Path, node: str, read: int, found: NodeRows) -> dict[str, Any]:
    """Return the counts of the node, added up as in a run."""
    rejected = found.result.at_nodes("dropped_at")[node]
    if node == path.target.id:
        staged = found.result.total("rows_staged")
        return {"rows_in": staged + rejected, "rows_out": staged, "rows_filtered": 0, "rows_rejected": rejected}
    report = next(r for r in accounting.node_reports(path, read, found.result) if r.id == node)
    return {
        "rows_in": report.rows_in,
        "rows_out": report.rows_out,
        "rows_filtered": report.rows_filtered or 0,
        "rows_rejected": rejected,
    }


def _rules(path: Path, node: str, found: NodeRows) -> Iterator[RulePreview]:
    counted = [rule for task in found.result.tasks for rule in task.rules]
    for rule in accounting.merge_rules(accounting.planned_rules(path), counted):
        if rule.node == node:
            yield RulePreview(
                rule.rule_id, rule.type, rule.field, rule.on_fail, rule.violations, rule.evaluated, rule.message
            )


def _branch_notes(path: Path, node: str, read: int, found: NodeRows) -> Iterator[str]:
    for report in accounting.node_reports(path, read, found.result):
        if report.id == node and report.branches:
            counts = ", ".join(f"{branch.rows:,} to {branch.to}" for branch in report.branches)
            yield f"Of these rows: {counts}. Shown as filtered are those that do not go to {report.taken}."


def _join_notes(path: Path, node: str, read: int, found: NodeRows) -> Iterator[str]:
    for report in accounting.node_reports(path, read, found.result):
        for join in report.joins if report.id == node else ():
            yield f"{join.matched:,} matched and {join.unmatched:,} unmatched in {join.reference}."


def _group_notes(path: Path, node: str, read: int, found: NodeRows) -> Iterator[str]:
    for report in accounting.node_reports(path, read, found.result):
        if report.id == node and report.rows_grouped:
            yield (
                f"{counted(report.rows_out, 'group')}, each shown at its first row. The {report.rows_grouped:,} other "
                "rows of the groups are shown as filtered."
            )


def _notes(job: NodePreviewJob, plan: _Plan) -> Iterator[str]:
    """Yield notes on what a run can do differently, because it reads all rows and the table."""
    node, path = job.pipeline.node(job.node), plan.path
    if any(isinstance(op, Deduplicate) for transform in path.transforms for op in transform.ops):
        yield "Duplicates are searched among these rows only."
    if any(isinstance(op, Window) for transform in path.transforms for op in transform.ops):
        yield "Windows see these rows only."
    if any(transform.aggregates for transform in path.transforms):
        yield "Groups are made of these rows only."
    if path.explode is not None:
        yield "A record is rejected with all its rows if one of them is, and then counts as one row."
    if isinstance(node, Validate) and node.dataset_level and node.dataset_level.checks():
        yield "Checks of the whole data set are not run."
    if job.without_target:
        yield job.without_target
    if isinstance(node, Target):
        yield "Rows are not compared with those in the table. A load may refuse or skip more of them."
