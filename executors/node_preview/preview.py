"""Previews one node: reads a part of the source, evaluates it as a run does, and returns the result of each row."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import replace
from typing import TYPE_CHECKING

from executors.charsets import UTF8
from executors.destinations import load_destination
from executors.destinations.base import own_columns
from executors.errors import Cancelled, Failure
from executors.model import RulePlan
from executors.node_preview.model import NodePreview, NodePreviewJob
from executors.node_preview.rows import order_of
from executors.node_preview.showing import MOST_SHOWN, Evaluated, Plan, show
from executors.node_preview.source import MOST_ROWS, Excerpt, read_excerpt, read_references
from executors.ports import Cancellation
from executors.reading import Reading
from executors.rules import require_rule_columns
from executors.runs.interrupts import Interrupts
from ir.pipeline import Path
from ir.rules import rule_id
from ir.types import ColumnType

if TYPE_CHECKING:
    from executors.spark.node_rows import NodeRows
    from executors.spark.session import RunSession


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
            paths = _paths_through(job.node, job.pipeline.paths_to(target))
            excerpts = {path: read_excerpt(job, path.source, stack, interrupts, cancellation) for path in paths}
            cancellation.check()

            def evaluate(job: NodePreviewJob, parts: Sequence[tuple[Path, Excerpt]]) -> NodePreview:
                found = [(path, read_references(job, path, stack, interrupts, cancellation)) for path, _ in parts]
                cancellation.check()
                read = [_with_references(one, more) for (_, one), (_, more) in zip(parts, found, strict=True)]
                return _evaluated(job, session, [(path, one) for (path, _), one in zip(found, read, strict=True)])

            return _preview(job, list(excerpts.items()), evaluate)
    except Failure:
        cancellation.check()  # the errors of interrupted work do not contain the reason
        raise


def _paths_through(node: str, paths: Sequence[Path]) -> Sequence[Path]:
    """Return the paths with a node. Before their rows are united, each path has nodes of its own."""
    return [path for path in paths if node in path.own_nodes] or paths


def _with_references(excerpt: Excerpt, found: Mapping[str, Excerpt]) -> Excerpt:
    reading = replace(excerpt.reading, references={name: one.reading for name, one in found.items()})
    notes = tuple(f"Looked up in {name}: {' '.join((one.extent, *one.unread))}" for name, one in found.items())
    return replace(excerpt, reading=reading, references=notes)


def _preview(
    job: NodePreviewJob,
    all_parts: Sequence[tuple[Path, Excerpt]],
    evaluate: Callable[[NodePreviewJob, Sequence[tuple[Path, Excerpt]]], NodePreview],
) -> NodePreview:
    """Evaluate the whole paths, because later nodes can affect the result of a row at the node. If a later node fails,
    the paths end at the node."""
    parts = [(path, one) for path, one in all_parts if not one.reading.is_blank and one.reading.fields]
    if not parts:
        kind = job.pipeline.node(job.node).kind
        return NodePreview(job.node, kind, job.sample, "The source is empty.", 0, 0, 0, 0, 0)
    try:
        return evaluate(job, parts)
    except Cancelled:
        raise
    except Failure as failure:
        order = order_of(parts[0][0])
        if order.get(failure.node or "", 0) <= order[job.node]:
            raise
        why = f"Nodes after {job.node} are ignored, because {failure.node} has an error: {failure.message}"
        return evaluate(replace(job, without_target=why), [(_up_to(path, job.node), one) for path, one in parts])


def _up_to(path: Path, node: str) -> Path:
    """Return the path up to the node. It keeps the target for its settings."""
    order = order_of(path)
    last = order[node]
    transforms = tuple(transform for transform in path.transforms if order[transform.id] <= last)
    validates = tuple(v for v in path.validates if order[v.id] <= last)
    return Path(path.source, transforms, validates, path.target, path.references)


def _evaluated(job: NodePreviewJob, session: RunSession, parts: Sequence[tuple[Path, Excerpt]]) -> NodePreview:
    plans: list[Plan] = []
    for path, excerpt in parts:
        united = plans[0].compiled.united if plans else None
        plans.append(_plan(job, session, path, excerpt.reading, united))
    evaluated = [Evaluated(plan, _node_rows(job, session, plan)) for plan in plans]
    return show(job, evaluated, [excerpt for _, excerpt in parts])


def _plan(
    job: NodePreviewJob,
    session: RunSession,
    path: Path,
    reading: Reading,
    united: Mapping[str, ColumnType] | None,
) -> Plan:
    """Return the same plan as a run's. Raises Failure for the node that cannot be run."""
    from executors.spark.columns import compile_path

    compiled = compile_path(
        session, path, reading.fields, observe=job.node, references=reading.references, united=united
    )
    require_rule_columns(path.validates, [column.name for column in compiled.fields])
    target = path.target
    if job.without_target:
        return Plan(path, reading, compiled, own_columns(target, compiled.fields), UTF8)
    try:
        handler, connection = load_destination(target), job.connections.get(target.connection)
        if connection is None:  # no database, whose table could be inspected
            columns, charset = own_columns(target, compiled.fields), UTF8
        else:
            columns, charset = handler.plan_columns(connection, path, compiled.fields)
    except Failure as failure:
        failure.node = failure.node or target.id
        raise
    return Plan(path, reading, compiled, columns, charset)


def _node_rows(job: NodePreviewJob, session: RunSession, plan: Plan) -> NodeRows:
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
