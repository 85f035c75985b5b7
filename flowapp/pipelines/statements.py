"""The SQL tab: what a run does in the target's database, and the statements that the last one sent, word for word."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from flowapp.pipelines.drafts import DraftView
from flowapp.pipelines.models import Pipeline
from flowapp.runs.models import CommitRecord, Run
from ir.expressions import parse_expression
from ir.load_modes import LOAD_MODE_KINDS, LoadMode
from ir.nodes import Target, Transform
from ir.ops import Derive, Filter, Op

MODES = {mode.name: mode for mode in LOAD_MODE_KINDS}
EXPRESSIONS: dict[type[Op], Callable[[Any], dict[str, str]]] = {
    Derive: lambda op: op.columns,
    Filter: lambda op: {"": op.where},
}
"""The expressions of an op, by the column that each makes."""


@dataclass(frozen=True, slots=True)
class Sent:
    """The statements that a run sent to load one target."""

    run: Run
    node: str
    statements: list[str]


@dataclass(frozen=True, slots=True)
class TargetSql:
    """A target of the draft, its load mode, and what the newest load of it sent, if that is known."""

    target: Target
    mode: LoadMode
    sent: Sent | None


@dataclass(frozen=True, slots=True)
class SparkSql:
    """An expression of a transform as Spark is given it: written anew from what was checked."""

    node: str
    column: str
    sql: str


def targets_of(pipeline: Pipeline, view: DraftView) -> list[TargetSql]:
    """The targets of the draft in its order; none while it has errors."""
    document = view.checked.pipeline
    if document is None:
        return []
    return [TargetSql(target, MODES[target.load_mode], _newest(pipeline, target.id)) for target in document.targets()]


def expressions_of(view: DraftView) -> list[SparkSql]:
    """Those of the draft's transforms; `column` is "" for a filter."""
    document = view.checked.pipeline
    nodes = [node for node in document.nodes if isinstance(node, Transform)] if document else []
    return [
        SparkSql(node.id, column, parse_expression(text).sql)
        for node in nodes
        for op in node.ops
        for column, text in EXPRESSIONS.get(type(op), lambda op: {})(op).items()
    ]


def sent_by(run: Run) -> list[Sent]:
    """What a run sent to its targets, as far as it was noted."""
    commits = CommitRecord.objects.filter(run=run).order_by("committed_at", "id")
    return [Sent(run, commit.node, commit.counts["sql"]) for commit in commits if commit.counts.get("sql")]


def _newest(pipeline: Pipeline, node: str) -> Sent | None:
    commits = CommitRecord.objects.filter(pipeline=pipeline, node=node).select_related("run__version")
    commit = commits.order_by("-committed_at").first()
    if commit is None or not commit.counts.get("sql"):
        return None
    return Sent(commit.run, node, commit.counts["sql"])
