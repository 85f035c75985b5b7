"""Rules about joins: which inputs they name, where references originate, and which columns they compare."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from ir.columns import Columns
from ir.diagnostics import Diagnostic, diagnose, listed, shown
from ir.graph import Graph, columns_of, unites
from ir.join_keys import can_be_key, common_key_type
from ir.nodes import Branch, Source, Transform
from ir.ops import Join
from ir.pointers import Pointer
from ir.spelling import guess
from ir.structure import DraftNode
from ir.types import ColumnType


def check_joins(graph: Graph) -> Iterator[Diagnostic]:
    """Check that joins and further inputs belong together, and that references can be read."""
    main_sources = {head.at for node in graph.nodes if node.kind == "target" for head in graph.sources_of(node)}
    moving: dict[Pointer, DraftNode] = {}
    for node in graph.nodes:
        if isinstance(node.spec, Transform) and not unites(node):
            yield from _check_inputs(node, node.spec, graph)
            for op, at in node.spec.joins(node.at):
                if op.with_ in node.inputs[1:] and op.with_ in graph.by_id:
                    chain = graph.path_to(graph.by_id[op.with_])
                    yield from _check_reference(at, chain, main_sources)
                    moving |= {head.at: head for head in chain if _moves_files(head)}
    for head in moving.values():
        at = head.at / "config" / "atomicity"
        message = f"{head.id} is a reference, whose files must not be moved."
        yield diagnose("join.reference_moves_files", at, message, fixes=[[{"op": "remove", "path": str(at)}]])


def _check_inputs(node: DraftNode, spec: Transform, graph: Graph) -> Iterator[Diagnostic]:
    """Check that each further input is named by exactly one join."""
    joined: Counter[str] = Counter()
    for op, at in spec.joins(node.at):
        joined[op.with_] += 1
        if op.with_ not in node.inputs[1:]:
            yield _unknown_reference(op, at / "with", node, graph)
        elif joined[op.with_] > 1:
            message = f"{node.id} joins with {op.with_} twice. Use another node for the second join."
            yield diagnose("inputs.count", at / "with", message)
    for i, name in enumerate(node.inputs[1:], 1):
        at = node.at / "inputs" / i
        fixes = [[{"op": "remove", "path": str(at)}]]
        if name in node.inputs[1:i]:
            yield diagnose("inputs.count", at, f"{node.id} names the input {name} twice.", fixes=fixes)
        elif name is not None and name not in joined:
            yield diagnose("inputs.count", at, f"No join of {node.id} names the input {name}.", fixes=fixes)


def _unknown_reference(op: Join, at: Pointer, node: DraftNode, graph: Graph) -> Diagnostic:
    further = [name for name in node.inputs[1:] if name is not None]
    message = f"{shown(op.with_)} is not an input of {node.id} after the first. These are: {listed(further) or 'none'}."
    near = guess(op.with_, further)
    if near is not None:
        return diagnose("join.with_unknown", at, message, fixes=[[{"op": "replace", "path": str(at), "value": near}]])
    is_there = op.with_ in graph.by_id and op.with_ not in (node.id, *node.inputs[:1])
    fixes = [[{"op": "add", "path": str(node.at / "inputs" / "-"), "value": op.with_}]] if is_there else []
    return diagnose("join.with_unknown", at, message, fixes=fixes)


def _check_reference(at: Pointer, chain: Sequence[DraftNode], main_sources: set[Pointer]) -> Iterator[Diagnostic]:
    if chain[0].at in main_sources:
        message = f"{chain[0].id} is also the source of the rows of a target, which may load only its new files."
        yield diagnose("join.main_and_reference", at / "with", message)
    for node in chain:
        if unites(node):
            message = f"{node.id} unites rows, so that it cannot be part of a reference."
            yield diagnose("union.reference", at / "with", message)
        elif isinstance(node.spec, Transform) and any(node.spec.joins(node.at)):
            message = f"{node.id} joins, so that it cannot be part of a reference."
            yield diagnose("join.reference_joins", at / "with", message)
        elif isinstance(node.spec, Branch):
            message = f"{node.id} is a branch node, whose rows cannot be a reference."
            yield diagnose("join.reference_branches", at / "with", message)


def _moves_files(node: DraftNode) -> bool:
    return isinstance(node.spec, Source) and "atomicity" in node.spec.config


@dataclass(frozen=True, slots=True)
class KnownJoin:
    """A join, its position, and what is known of the columns of the rows and of the reference."""

    op: Join
    at: Pointer
    rows: Columns
    reference: Columns

    def reads(self) -> Iterator[tuple[str, Pointer]]:
        """Yield the columns of the reference that the join needs, each with the position of its name."""
        for own, other in self.op.on.items():
            yield other, self.at / "on" / own
        for column in self.op.columns:
            yield column, self.at / "columns" / column


def joins_of(
    node: DraftNode, graph: Graph, arriving: Mapping[Pointer, Columns], seen: Mapping[str, Sequence[str]]
) -> Iterator[KnownJoin]:
    """Yield the joins of a node whose reference exists. `arriving` and `seen` are those of `known_columns`."""
    if not isinstance(node.spec, Transform):
        return
    columns, places = arriving[node.at], {id(op): at for op, at in node.spec.joins(node.at)}
    for op in node.spec.ops:
        if isinstance(op, Join) and op.with_ in graph.by_id:
            reference = columns_of(graph.by_id[op.with_], arriving, seen)
            yield KnownJoin(op, places[id(op)], columns, reference)
        columns = op.columns_after(columns)


def check_join_columns(join: KnownJoin) -> Iterator[Diagnostic]:
    """Check that added columns have new names, and that keys can be compared, as far as the document states types."""
    for column, name in join.op.columns.items():
        if join.rows.has(name):
            message = f"The rows already have a column {shown(name)}."
            yield diagnose("column.repeated", join.at / "columns" / column, message)
    for own, other in join.op.on.items():
        if why := _why_not_comparable(own, other, join):
            yield diagnose("join.key_type", join.at / "on" / own, why)


def _why_not_comparable(own: str, other: str, join: KnownJoin) -> str | None:
    left, right = join.rows.types.get(own), join.reference.types.get(other)
    for name, kind in ((own, left), (other, right)):
        if kind is not None and not can_be_key(ColumnType.parse(kind)):
            return f"{shown(name)} is {kind}, which joins do not compare."
    if left is None or right is None or common_key_type(ColumnType.parse(left), ColumnType.parse(right)) is not None:
        return None
    return f"{shown(own)} is {left}, but {shown(other)} of {join.op.with_} is {right}."
