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
    return [other for _, other in nodes_of(document) if node.get("id") in _inputs(other)[:1]]


def joining(document: Any, node: Node) -> list[Node]:
    """Return the nodes that look up rows in a node."""
    return [other for _, other in nodes_of(document) if node.get("id") in _inputs(other)[1:]]


def with_references(document: Any, nodes: Sequence[Node]) -> list[Node]:
    """Return the nodes, followed by the references of their joins and the nodes before these."""
    by_id = {str(other.get("id")): other for _, other in nodes_of(document)}
    found = list(nodes)
    for node in nodes:
        for name in _inputs(node)[1:]:
            if (reference := by_id.get(name)) is not None:
                found += [n for n in (reference, *nodes_above(document, reference)) if n not in found]
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


def _inputs(node: Node) -> list[str]:
    inputs = node.get("inputs")
    return list(map(str, inputs)) if isinstance(inputs, list) else []


def _without(document: Any, node: Node) -> Any:
    """Return the document without a node, so that a cycle ends."""
    return {"nodes": [other for _, other in nodes_of(document) if other is not node]}
