"""Rules about aggregates: where on a path they may stand, and which types they take."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from ir.aggregate_types import why_no_group_key, why_not_computable
from ir.columns import Columns
from ir.diagnostics import Diagnostic, diagnose, shown
from ir.graph import Graph
from ir.load_modes import load_mode
from ir.nodes import Branch, Target, Transform
from ir.ops import Aggregate, Deduplicate, Join, Window
from ir.ops.base import Op
from ir.pointers import Pointer
from ir.structure import DraftNode
from ir.types import ColumnType

_AFTER = (Aggregate, Deduplicate, Window, Join)
"""Ops that look at several rows, or that need to know which record a row comes from."""


def check_aggregates(graph: Graph) -> Iterator[Diagnostic]:
    """Check where aggregates stand: before which targets, and beside which nodes and ops."""
    seen: set[tuple[Pointer, str]] = set()
    for node in graph.nodes:
        if isinstance(node.spec, Target):
            for found in (one for chain in graph.chains_to(node) for one in _check_path(node, node.spec, chain)):
                if (found.path, found.code) not in seen:
                    seen.add((found.path, found.code))
                    yield found
        elif isinstance(node.spec, Transform):
            yield from _check_reference_inputs(node, node.spec, graph)


def _check_path(node: DraftNode, target: Target, chain: Sequence[DraftNode]) -> Iterator[Diagnostic]:
    ops = [(op, at) for part in chain for op, at in _ops_of(part)]
    first = next(((i, op, at) for i, (op, at) in enumerate(ops) if isinstance(op, Aggregate)), None)
    if first is None:
        return
    index, _, at = first
    if not load_mode(target.load_mode).replaces_all_rows:
        message = f"{target.id} keeps the rows of earlier loads, so that a group of the new rows is a part of a group."
        yield diagnose("aggregate.part_of_rows", at, message)
    if target.on_type_mismatch == "null":
        message = f"{target.id} loads NULL for values of another type, which nobody would see in a group."
        fix = [{"op": "add", "path": str(node.at / "onTypeMismatch"), "value": "skip"}]
        yield diagnose("aggregate.values_lost", node.at / "onTypeMismatch", message, fixes=[fix])
    for op, place in ops[index + 1 :]:
        if place.parent == at.parent:
            yield diagnose("aggregate.not_last", place, f"{op.op} comes after an aggregate in the same node.")
        elif isinstance(op, _AFTER):
            yield diagnose("aggregate.op_after", place, f"{op.op} comes after an aggregate.")
    for part in chain:
        if isinstance(part.spec, Branch):
            yield diagnose("aggregate.branch", at, f"The branch node {part.id} is on the same path to {target.id}.")


def _check_reference_inputs(node: DraftNode, spec: Transform, graph: Graph) -> Iterator[Diagnostic]:
    for op, at in spec.joins(node.at):
        if op.with_ in node.inputs[1:] and op.with_ in graph.by_id:
            for part in graph.path_to(graph.by_id[op.with_]):
                if any(isinstance(found, Aggregate) for found, _ in _ops_of(part)):
                    message = f"{part.id} aggregates, so that it cannot be part of a reference."
                    yield diagnose("aggregate.reference", at / "with", message)


def _ops_of(node: DraftNode) -> Iterator[tuple[Op, Pointer]]:
    if isinstance(node.spec, Transform):
        yield from ((op, node.at / "ops" / i) for i, op in enumerate(node.spec.ops))


def check_types(node: DraftNode, columns: Columns) -> Iterator[Diagnostic]:
    """Check the types of the columns that the aggregates of a node read, as far as the document says."""
    for op, at in _ops_of(node):
        if isinstance(op, Aggregate):
            types = {name: ColumnType.parse(kind) for name, kind in columns.types.items()}
            for i, name in enumerate(op.by):
                if name in types and (why := why_no_group_key(types[name])):
                    yield diagnose("aggregate.type", at / "by" / i, f"{shown(name)} is {why}.")
            for i, column in enumerate(op.columns):
                kind = types.get(column.column or "")
                if kind is not None and (why := why_not_computable(column.function, kind)):
                    yield diagnose("aggregate.type", at / "columns" / i / "column", f"{shown(column.column)} is {why}.")
        columns = op.columns_after(columns)
