"""The nodes before and after a node of a draft, which may be unfinished: inputs may be missing or lead in a circle."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from flowapp.pipelines.checking import nodes_of

Node = dict[str, Any]


def nodes_above(document: Any, node: Node) -> list[Node]:
    """The nodes that the rows of a node come through, the nearest first."""
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
    """The nodes on the way to the first target that a node feeds, else those that it feeds one after the other."""
    below: list[Node] = []
    for reader in readers_of(document, node):
        if reader in below:
            continue
        below = [reader, *nodes_below(_without(document, node), reader)]
        if below[-1].get("kind") == "target":
            break
    return below


def readers_of(document: Any, node: Node) -> list[Node]:
    """The nodes that get the rows of a node. Those that only look rows up in it do not."""
    return [other for _, other in nodes_of(document) if node.get("id") in _inputs(other)[:1]]


def joining(document: Any, node: Node) -> list[Node]:
    """The nodes that look rows up in a node."""
    return [other for _, other in nodes_of(document) if node.get("id") in _inputs(other)[1:]]


def with_references(document: Any, nodes: Sequence[Node]) -> list[Node]:
    """Nodes, and behind them those that their joins look rows up in."""
    by_id = {str(other.get("id")): other for _, other in nodes_of(document)}
    found = list(nodes)
    for node in nodes:
        for name in _inputs(node)[1:]:
            if (reference := by_id.get(name)) is not None:
                found += [n for n in (reference, *nodes_above(document, reference)) if n not in found]
    return found


def branch_ends(document: Any, nodes: Sequence[Node]) -> list[tuple[Node, str]]:
    """The branch nodes among some nodes, each with a node that one of its branches leads to and that is not among
    them."""
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
    """The document without a node, so that a cycle ends."""
    return {"nodes": [other for _, other in nodes_of(document) if other is not node]}
