"""The SQL tab: what a run executes in the target's database, and the statements of the last run, verbatim."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from flowapp.pipelines.drafts import DraftView
from flowapp.pipelines.models import Pipeline
from flowapp.runs.sent_statements import Sent, newest_sent
from ir.expressions import parse_expression
from ir.expressions.select import Query
from ir.load_modes import LOAD_MODE_KINDS, LoadMode
from ir.nodes import Branch, Node, Target, Transform, Validate
from ir.ops import Derive, Filter, Op, SqlQuery
from ir.rules import Expression

MODES = {mode.name: mode for mode in LOAD_MODE_KINDS}


def _of_query(query: Query | None) -> dict[str, str]:
    if query is None:
        return {}
    return {**({"": query.where} if query.where else {}), **{item.name: item.text for item in query.items}}


EXPRESSIONS: dict[type[Op], Callable[[Any], dict[str, str]]] = {
    Derive: lambda op: op.columns,
    Filter: lambda op: {"": op.where},
    SqlQuery: lambda op: _of_query(op.parsed()),
}
"""Functions that return the expressions of an op, by the column that each computes."""


@dataclass(frozen=True, slots=True)
class TargetSql:
    """A target of the draft, its load mode, and the statements of its newest load, if they are known."""

    target: Target
    mode: LoadMode
    sent: Sent | None


@dataclass(frozen=True, slots=True)
class SparkSql:
    """An expression as Flow passes it to Spark, generated from the validated expression. `location` names its use."""

    node: str
    location: str
    sql: str


@dataclass(frozen=True, slots=True)
class CheckSql:
    """A simplified query of a dataset check on the staged rows."""

    node: str
    kind: str
    subject: str
    sql: str


def targets_of(pipeline: Pipeline, view: DraftView) -> list[TargetSql]:
    """Return the targets of the draft in document order; none while the draft has errors."""
    document = view.checked.pipeline
    if document is None:
        return []
    return [
        TargetSql(target, MODES[target.load_mode], newest_sent(pipeline, target.id)) for target in document.targets()
    ]


def expressions_of(view: DraftView) -> list[SparkSql]:
    """Return the expressions of the draft's transforms and rules."""
    document = view.checked.pipeline
    return [
        SparkSql(node.id, location, parse_expression(text).sql)
        for node in (document.nodes if document else ())
        for location, text in _texts_of(node)
    ]


def _texts_of(node: Node) -> Iterator[tuple[str, str]]:
    if isinstance(node, Branch):
        return ((f"branch to {branch.to}", branch.where) for branch in node.branches)
    return _of_ops(node) if isinstance(node, Transform) else _of_rules(node)


def _of_ops(node: Transform) -> Iterator[tuple[str, str]]:
    for op in node.ops:
        for column, text in EXPRESSIONS.get(type(op), lambda op: {})(op).items():
            yield f"column {column}" if column else "filter", text


def _of_rules(node: Node) -> Iterator[tuple[str, str]]:
    for rule in node.row_level if isinstance(node, Validate) else ():
        name = f"rule {rule.id}" if rule.id else f"{rule.type} of {rule.field}" if rule.field else rule.type
        if rule.when is not None:
            yield f"{name}: when", rule.when
        if isinstance(rule, Expression):
            yield name, rule.expression


def checks_of(view: DraftView) -> list[CheckSql]:
    """Return the dataset checks of the draft."""
    document = view.checked.pipeline
    levels = [(n.id, n.dataset_level) for n in (document.nodes if document else ()) if isinstance(n, Validate)]
    return [
        CheckSql(node, kind, check.subject, check.outline)
        for node, level in levels
        if level is not None
        for kind, check in level.checks()
    ]
