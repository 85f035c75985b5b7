"""Find the nodes before and after a node of a draft, which may be unfinished: inputs may be missing or form a cycle."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from flowapp.pipelines.checking import nodes_of

Node = dict[str, Any]


def nodes_above(document: Any, node: Node) -> list[Node]:
    """Return the nodes through which the rows of a node come, nearest first."""
    by_id = {str(other.get("id")): other for _, other in nodes_of(document)}
    found: list[Node] = []
    while inputs := _inputs(node):
        above = by_id.get(inputs[0])
        if above is None or above in found:
            break
        found.append(above)
        node = above
    return found


def nodes_below(document: Any, node: Node) -> list[Node]:
    """Return the nodes on the way to the first target that a node feeds; without a target, the nodes that it feeds, in
    order."""
    below: list[Node] = []
    for reader in readers_of(document, node):
        if reader in below:
            continue
        below = [reader, *nodes_below(_without(document, node), reader)]
        if below[-1].get("kind") == "target":
            break
    return below


def readers_of(document: Any, node: Node) -> list[Node]:
    """Return the nodes that receive the rows of a node, without those that only look up rows in it."""
    return [other for _, other in nodes_of(document) if node.get("id") in main_inputs(other)]


def joining(document: Any, node: Node) -> list[Node]:
    """Return the nodes that look up rows in a node."""
    return [other for _, other in nodes_of(document) if node.get("id") in _references(other)]


def with_references(document: Any, nodes: Sequence[Node]) -> list[Node]:
    """Return the nodes, followed by the references of their joins, the other inputs of their unions, and the nodes
    before these."""
    by_id = {str(other.get("id")): other for _, other in nodes_of(document)}
    found = list(nodes)
    for node in nodes:
        for name in _inputs(node):
            if (above := by_id.get(name)) is not None and above not in found:
                others = [n for n in (above, *nodes_above(document, above)) if n not in found]
                found += [n for n in with_references(document, others) if n not in found]
    return found


def branch_ends(document: Any, nodes: Sequence[Node]) -> list[tuple[Node, str]]:
    """Return pairs of a branch node of `nodes` and a node outside `nodes` to which one of its branches leads."""
    known = {node.get("id") for node in nodes}
    return [
        (node, str(reader["id"]))
        for node in nodes
        if node.get("kind") == "branch"
        for reader in readers_of(document, node)
        if reader.get("id") not in known
    ]


def main_inputs(node: Node) -> list[str]:
    """Return the inputs whose rows pass through a node: all of a `union`, else the first."""
    return _inputs(node) if unites(node) else _inputs(node)[:1]


def _references(node: Node) -> list[str]:
    return [] if unites(node) else _inputs(node)[1:]


def unites(node: Node) -> bool:
    """Return whether a node unites the rows of all its inputs."""
    ops = node.get("ops")
    return isinstance(ops, list) and any(isinstance(op, dict) and op.get("op") == "union" for op in ops)


def without_quarantine(node: Node) -> Node:
    """Return the node without the table of its rejected rows, for documents whose runs store none."""
    return {name: value for name, value in node.items() if name != "quarantine"}


def _inputs(node: Node) -> list[str]:
    inputs = node.get("inputs")
    return list(map(str, inputs)) if isinstance(inputs, list) else []


def _without(document: Any, node: Node) -> Any:
    """Return the document without a node, so that a cycle ends."""
    return {"nodes": [other for _, other in nodes_of(document) if other is not node]}
