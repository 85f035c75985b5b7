"""Rules about the op union: its place, its inputs, what may stand before and after it, and the columns where rows
meet."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from ir.columns import Columns
from ir.diagnostics import Diagnostic, Patch, diagnose, listed, shown
from ir.graph import Graph, columns_of, unites
from ir.load_modes import load_mode
from ir.nodes import Branch, Target, Transform
from ir.ops import Aggregate, Deduplicate, Join, Op, Union, Window
from ir.pointers import Pointer
from ir.structure import DraftNode

_OVER_ALL_ROWS = (Deduplicate, Window, Aggregate)
"""Ops that would have to compare the rows of all inputs. Each input is read by a job of its own."""


def check_unions(graph: Graph) -> Iterator[Diagnostic]:
    """Yield the errors of all rules but those about columns."""
    for node in graph.nodes:
        if unites(node):
            yield from _check_ops(node)
            yield from _check_inputs(node)
            yield from _check_heads(node, graph)
        if isinstance(node.spec, Target):
            yield from _check_after(node, node.spec, graph)


def _ops_of(node: DraftNode) -> list[tuple[Op, Pointer]]:
    parts = sorted((part for part in node.parts if isinstance(part.spec, Op)), key=lambda part: int(part.at[-1]))
    return [(part.spec, part.at) for part in parts if isinstance(part.spec, Op)]


def _check_ops(node: DraftNode) -> Iterator[Diagnostic]:
    first = node.at / "ops" / 0
    for op, at in _ops_of(node):
        if isinstance(op, Union) and at != first:
            fixes: list[Patch] = [[{"op": "move", "from": str(at), "path": str(first)}]]
            if any(isinstance(other, Union) and place == first for other, place in _ops_of(node)):
                fixes = [[{"op": "remove", "path": str(at)}]]
            yield diagnose("union.not_first", at, "union comes after another operation of the node.", fixes=fixes)
        elif isinstance(op, Join):
            message = f"{node.id} unites all its inputs, so that none of them is a reference."
            yield diagnose("union.joins", at, message)


def _check_inputs(node: DraftNode) -> Iterator[Diagnostic]:
    if len(node.inputs) < 2:
        message = f"{node.id} unites the rows of several nodes, but reads from {len(node.inputs)}."
        yield diagnose("union.inputs", node.at / "inputs", message)
    for i, name in enumerate(node.inputs):
        if name is not None and name in node.inputs[:i]:
            at = node.at / "inputs" / i
            message = f"{node.id} names the input {name} twice, so that its rows would be loaded twice."
            yield diagnose("inputs.count", at, message, fixes=[[{"op": "remove", "path": str(at)}]])


def _check_heads(node: DraftNode, graph: Graph) -> Iterator[Diagnostic]:
    """Check the nodes before a union."""
    sources: dict[Pointer, str | None] = {}
    for i, (at, above) in enumerate(graph.inputs_of(node)):
        chain = graph.path_to(above)
        for one in chain:
            if unites(one) and one is not node:
                message = f"{one.id} unites rows already. Name its inputs here."
                yield diagnose("union.nested", at, message)
            elif isinstance(one.spec, Branch):
                message = f"{one.id} is a branch node, whose rows cannot be united with others."
                yield diagnose("union.branch", at, message)
            elif isinstance(one.spec, Transform) and one.spec.aggregates:
                message = f"{one.id} makes groups, which cannot be united with other rows."
                yield diagnose("union.compares_rows", at, message)
        earlier = sources.get(chain[0].at)
        if earlier is not None and above.id not in node.inputs[:i]:
            message = f"The rows of {above.id} and of {earlier} come from the same source, {chain[0].id}."
            yield diagnose("union.source_repeated", at, message)
        sources.setdefault(chain[0].at, above.id)


def _check_after(node: DraftNode, target: Target, graph: Graph) -> Iterator[Diagnostic]:
    """Check the nodes between a union and a target."""
    chain = graph.path_to(node)
    place = next((i for i, one in enumerate(chain) if unites(one)), None)
    if place is None:
        return
    union = chain[place]
    for one in chain[place:]:
        if isinstance(one.spec, Branch):
            message = f"The branch node {one.id} comes after {union.id}, which unites the rows of several sources."
            yield diagnose("union.branch", one.at, message)
        for op, at in _ops_of(one) if one.kind == "transform" else ():
            if isinstance(op, _OVER_ALL_ROWS):
                message = f"{op.op} comes after {union.id}, whose inputs are read one after the other."
                yield diagnose("union.compares_rows", at, message)
    mode = load_mode(target.load_mode)
    if mode.keeps_watermark or mode.follows_stream:
        message = f"{target.id} gets the rows of several sources, but has one watermark: a source that is behind the "
        message += "others would lose rows."
        yield diagnose("union.load_mode", node.at / "loadMode", message)


def check_united_columns(
    node: DraftNode, graph: Graph, arriving: Mapping[Pointer, Columns], seen: Mapping[str, Sequence[str]]
) -> Iterator[Diagnostic]:
    """Check that all inputs of a union have the same columns with the same types, as far as the document says.
    `arriving` and `seen` are those of `known_columns`."""
    if not unites(node):
        return
    heads = [(at, above.id, columns_of(above, arriving, seen)) for at, above in graph.inputs_of(node)]
    names = list(dict.fromkeys(name for _, _, columns in heads for name in columns.present))
    for at, above, columns in heads:
        missing = [name for name in names if columns.has(name) is False]
        if missing:
            having = next(other for _, other, known in heads if missing[0] in known.present)
            message = f"The rows of {above} have no column {listed(map(shown, missing))}, unlike those of {having}."
            yield diagnose("union.column_missing", at, message)
    for name in names:
        stated = [(at, above, columns.types[name]) for at, above, columns in heads if name in columns.types]
        for at, above, kind in stated[1:]:
            if kind != stated[0][2]:
                message = f"{shown(name)} is {kind} in the rows of {above}, but {stated[0][2]} in those of "
                yield diagnose("union.column_type", at, f"{message}{stated[0][1]}.")
