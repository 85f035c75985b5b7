"""Puts together what a preview shows of a node, from the evaluated rows of the paths through it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from executors import accounting
from executors.charsets import Charset
from executors.model import StageColumn
from executors.node_preview.model import NodePreview, NodePreviewJob, RulePreview
from executors.node_preview.rows import left_at, order_of, profile, reaches, row_preview
from executors.node_preview.source import Excerpt
from executors.reading import Reading
from ir.nodes import Target, Validate
from ir.ops import Deduplicate, Window
from ir.pipeline import Path
from ir.types import ColumnType
from ir.words import counted

if TYPE_CHECKING:
    from executors.spark.compiled import Compiled, Working
    from executors.spark.node_rows import NodeRow, NodeRows

MOST_SHOWN = 200


@dataclass(frozen=True, slots=True)
class Plan:
    """A path as a run would evaluate it, for an excerpt of its source."""

    path: Path
    reading: Reading
    compiled: Compiled
    columns: tuple[StageColumn, ...]
    charset: Charset


@dataclass(frozen=True, slots=True)
class Evaluated:
    """A path and its rows."""

    plan: Plan
    found: NodeRows

    @property
    def rows_read(self) -> int:
        return accounting.rows_read(self.found.result)

    @property
    def names(self) -> dict[int, str]:
        """The names of the files by their numbers."""
        return {origin.seq: origin.name for origin in self.plan.reading.origins}


def show(job: NodePreviewJob, parts: Sequence[Evaluated], excerpts: Sequence[Excerpt]) -> NodePreview:
    """Return the preview of the node of a job: its counts, columns and rules over all paths, and rows of each."""
    node = job.pipeline.node(job.node)
    before, after = _types(job, parts[0].plan)
    rows = [(part, row) for part in parts for row in _rows_at(job, part)]
    counted: Counter[str] = Counter()
    for part in parts:
        counted.update(_counts(part.plan.path, node.id, part.rows_read, part.found))
    counts: dict[str, Any] = dict(counted)
    labels = [f"{part.plan.path.source.id}: " if len(parts) > 1 else "" for part in parts]
    labelled = list(zip(labels, parts, excerpts, strict=True))
    return NodePreview(
        node=node.id,
        kind=node.kind,
        sample=job.sample,
        extent=" ".join(f"{label}{excerpt.extent}" for label, _, excerpt in labelled),
        rows_read=sum(part.rows_read for part in parts),
        **counts,
        before=profile(
            before,
            (row.before for part, row in rows if row.raw is None and not _repeats(row, node.id, part.plan.path)),
        ),
        after=profile(after, (_after(row) for _, row in rows if left_at(row) != node.id)),
        rules=tuple(_rules(parts, node.id)),
        rows=tuple(
            row_preview(row, node.id, (tuple(before), tuple(after)), f"{label}{part.names.get(row.file, '')}")
            for label, part, _ in labelled
            for row in _rows_at(job, part)[: max(1, MOST_SHOWN // len(parts))]
        ),
        notes=(
            *(f"{label}{note}" for label, part, _ in labelled for note in _counted_notes(part, node.id)),
            *dict.fromkeys(note for part in parts for note in _notes(job, part.plan)),
            *dict.fromkeys(note for excerpt in excerpts for note in (*excerpt.unread, *excerpt.references)),
        ),
        **_units(parts, node.id),
    )


def _units(parts: Sequence[Evaluated], node: str) -> dict[str, Any]:
    """Return what the counts of a node count: records until they are exploded, then rows. Where paths meet, all of them
    have rows, but a path that explodes its records before that rejects whole records."""
    for path in (part.plan.path for part in parts):
        if path.explode is not None:
            order = order_of(path)
            exploded_at = order[path.explode[0]]
            return {
                "unit_in": "record" if order[node] <= exploded_at else "row",
                "unit_out": "record" if order[node] < exploded_at else "row",
                "unit_rejected": "record",
            }
    return {}


def _rows_at(job: NodePreviewJob, part: Evaluated) -> list[NodeRow]:
    """Return the rows that reach the node, lost ones first in a sample of failing rows."""
    path, order = part.plan.path, order_of(part.plan.path)
    rows = [r for r in part.found.rows if reaches(r, job.node, order) and _is_made(r, job.node, path, order)]
    return sorted(rows, key=lambda row: left_at(row) is None) if job.sample == "failing" else rows


def _counted_notes(part: Evaluated, node: str) -> Iterator[str]:
    path, read, found = part.plan.path, part.rows_read, part.found
    yield from _branch_notes(path, node, read, found)
    yield from _join_notes(path, node, read, found)
    yield from _group_notes(path, node, read, found)


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


def _types(job: NodePreviewJob, plan: Plan) -> tuple[dict[str, ColumnType], dict[str, ColumnType]]:
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


def _rules(parts: Sequence[Evaluated], node: str) -> Iterator[RulePreview]:
    found = [rule for part in parts for task in part.found.result.tasks for rule in task.rules]
    for rule in accounting.merge_rules(accounting.planned_rules(parts[0].plan.path), found):
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


def _notes(job: NodePreviewJob, plan: Plan) -> Iterator[str]:
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
