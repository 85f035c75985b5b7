"""Prepare a run for its page: the row balance, the steps, the nodes, and a comparison with the previous run."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from django.utils import timezone

from flowapp.pipelines.documents import read_document
from flowapp.runs.attempts import list_failed_attempts
from flowapp.runs.comparing import compare_with_previous
from flowapp.runs.durations import idle_seconds_of, seconds_of
from flowapp.runs.hooks import can_run_again
from flowapp.runs.loaded_tables import LoadedTable, list_loaded_tables
from flowapp.runs.models import ACTIVE, CLAIMABLE, RESTING, Run, State
from flowapp.runs.previews import present_effects
from flowapp.runs.row_balance import RowBalance, row_balance_of
from flowapp.runs.run_kinds import run_kind_of
from flowapp.runs.selectors import page_log, run_ahead, run_document
from flowapp.runs.sent_statements import sent_by
from flowapp.runs.step_table import list_step_rows
from ir.errors import FlowError
from ir.load_modes import load_mode
from ir.nodes import Node, Source, Transform
from ir.pipeline import Pipeline

_EXCLUDED = ("rowsReplaced", "rowsBehindMark", "rowsSuppressed")
"""Rows that a target excludes itself. Its filtered rows were filtered by the nodes before it."""


_LEFT_OUT = ("rowsFiltered", "rowsElsewhere", "rowsGrouped")
"""What other nodes leave out."""


@dataclass(frozen=True, slots=True)
class NodeRow:
    """A node of the run's version. `counts` is None while it has not finished, and for nodes that only joins read.
    `united` are the nodes whose rows it unites, each with the number of rows that it has passed on."""

    id: str
    kind: str
    counts: dict[str, Any] | None
    failed: bool
    is_reference: bool
    united: tuple[tuple[str, int], ...] = ()

    @property
    def rejected(self) -> int | None:
        """The rows that violated a rule at this node; None if the node evaluates no rules."""
        return (self.counts or {}).get("rowsRejectedHere")

    @property
    def excluded(self) -> int:
        """The rows that came in and were neither passed on nor rejected at this node."""
        counts = self.counts or {}
        return sum(counts.get(key) or 0 for key in (_EXCLUDED if self.kind == "target" else _LEFT_OUT))


@dataclass(frozen=True, slots=True)
class HookRow:
    """A hook. `again` means that users can rerun it; `under_way` means that a rerun is requested or running."""

    hook: dict[str, Any]
    again: bool
    under_way: bool


def present_run(run: Run, *, sees_values: bool = False) -> dict[str, Any]:
    """Return the context of the run's page, with a constant number of queries."""
    document = run_document(run, sees_values=sees_values)
    newest = page_log(run)
    return {
        "run": run,
        "run_kind": run_kind_of(run),
        "document": document,
        "hooks": (hooks := _hooks(run)),
        "backups": list(run.backups.all()),
        "watermark_nodes": _watermark_nodes(run),
        "hook_under_way": any(row.under_way for row in hooks),
        "is_active": run.state in ACTIVE and run.state not in RESTING,
        "is_held": run.state == State.HELD,
        "is_queued": run.state in CLAIMABLE,
        "ahead": run_ahead(run) if run.state in CLAIMABLE else None,
        "seconds": seconds_of(run),
        "idle_seconds": idle_seconds_of(run),
        "steps": (steps := list_step_rows(run)),
        "failed_attempts": list_failed_attempts(run),
        "retry_of": run.retry_of,
        "has_attempts": len({step.attempt for step in steps if step.attempt}) > 1,
        "comparison": compare_with_previous(run, document["nodes"]),
        "nodes": _nodes(run, document),
        "equations": _row_balances(run, document),
        "effects": present_effects(document),
        "nothing_new": run.nothing_new,
        "log": newest.rows[::-1],
        "older": newest.next,
        "sent": sent_by(run),
    }


def _watermark_nodes(run: Run) -> list[str]:
    """Return the targets that have a watermark."""
    try:
        targets = read_document(run.document).targets()
    except FlowError:
        return []
    return [target.id for target in targets if load_mode(target.load_mode).keeps_watermark]


def _hooks(run: Run) -> list[HookRow]:
    is_held = run.lease_until is not None and run.lease_until > timezone.now()
    return [
        HookRow(hook.to_json(), can_run_again(run, hook), is_held and hook.state == "queued")
        for hook in run.stored_report.hooks
    ]


def _row_balances(run: Run, document: dict[str, Any]) -> list[tuple[dict[str, Any], RowBalance, LoadedTable | None]]:
    """Return each target with its row balance, and its table if a load of it has committed."""
    tables = {table.node: table for table in list_loaded_tables(run)}
    counted = [node for node in document["nodes"] if node.get("rowsLoaded") is not None]
    return [(node, row_balance_of(node), tables.get(node["id"])) for node in counted]


def _nodes(run: Run, document: dict[str, Any]) -> list[NodeRow]:
    counted = {node["id"]: node for node in document["nodes"]}
    pipeline = _saved_pipeline(run) if run_kind_of(run).loads else None
    kinds, references = _saved_nodes(pipeline) if pipeline else ({}, frozenset())
    united = _united(pipeline, counted) if pipeline else {}
    kinds |= {name: node["kind"] for name, node in counted.items()}
    return [
        NodeRow(
            name,
            kind,
            counted.get(name),
            run.error_node == name and run.state not in (State.HELD, State.DISCARDED),
            name in references,
            united.get(name, ()),
        )
        for name, kind in kinds.items()
    ]


def _in_order(pipeline: Pipeline) -> list[Node]:
    """Return the nodes in the order of the document, but each after the nodes that it reads from."""
    ordered: dict[str, Node] = {}

    def add(node: Node) -> None:
        for name in () if isinstance(node, Source) else node.inputs:
            add(pipeline.node(name))
        ordered.setdefault(node.id, node)

    for node in pipeline.nodes:
        if node.id not in ordered:
            add(node)
    return list(ordered.values())


def _saved_pipeline(run: Run) -> Pipeline | None:
    """Return the run's version; None if this release cannot parse it."""
    try:
        return read_document(run.document)
    except FlowError:
        return None


def _united(pipeline: Pipeline, counted: dict[str, dict[str, Any]]) -> dict[str, tuple[tuple[str, int], ...]]:
    """Return for each node that unites rows how many rows of each of its inputs have arrived."""
    return {
        node.id: tuple((name, counted[name]["rowsOut"]) for name in node.inputs if name in counted)
        for node in pipeline.nodes
        if isinstance(node, Transform) and node.unites
    }


def _saved_nodes(pipeline: Pipeline) -> tuple[dict[str, str], frozenset[str]]:
    """Return the kinds of the nodes of the run's version, in their order, and the nodes that only joins read."""
    paths = (path for target in pipeline.targets() for path in pipeline.paths_to(target))
    references = frozenset().union(*(path.reference_nodes for path in paths))
    return {node.id: node.kind for node in _in_order(pipeline)}, references
