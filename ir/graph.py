"""Rules about the graph of nodes: ids, inputs, cycles, and which nodes may read from which."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from ir.budget import spend
from ir.columns import Columns
from ir.diagnostics import Diagnostic, diagnose, listed, shown
from ir.nodes import NODES
from ir.nodes.base import InnerNode
from ir.nodes.source import Source
from ir.nodes.target import Target
from ir.nodes.validate import Validate
from ir.ops import Union
from ir.pointers import Pointer
from ir.spelling import guess
from ir.structure import DraftNode


class Graph:
    """The nodes of a draft by id (the first of each), and the nodes that read from each."""

    def __init__(self, nodes: Sequence[DraftNode]) -> None:
        self.nodes = nodes
        self.by_id: dict[str, DraftNode] = {}
        self.readers: dict[str, list[DraftNode]] = defaultdict(list)
        for node in nodes:
            if node.id is not None:
                self.by_id.setdefault(node.id, node)
            for name in node.inputs:
                if name is not None:
                    self.readers[name].append(node)

    def inputs_of(self, node: DraftNode) -> Iterator[tuple[Pointer, DraftNode]]:
        """Yield the nodes that a node reads from, each with the position of the reference. Unknown ones are omitted."""
        for i, name in enumerate(node.inputs):
            if name is not None and name in self.by_id:
                yield node.at / "inputs" / i, self.by_id[name]

    def first_input_of(self, node: DraftNode) -> DraftNode | None:
        """Return the node that the rows of a node come from, the first one of a `union`; None if it is unknown, or if
        there are several and the node is no transform node."""
        if len(node.inputs) != 1 and node.kind != "transform":
            return None
        name = node.inputs[0] if node.inputs else None
        return self.by_id.get(name) if name is not None else None

    def path_to(self, node: DraftNode) -> list[DraftNode]:
        """Return the nodes that the rows of a node come through, the first one first and the node itself last. In a
        cycle, each node is there once."""
        path: list[DraftNode] = []
        seen: set[Pointer] = set()
        above: DraftNode | None = node
        while above is not None and above.at not in seen:
            spend(2)
            seen.add(above.at)
            path.append(above)
            above = self.first_input_of(above)
        return path[::-1]

    def chains_to(self, node: DraftNode) -> list[list[DraftNode]]:
        """Return the nodes that the rows of a node come through, as `path_to`, for each input of a `union` before
        it."""
        chain = self.path_to(node)
        place = next((i for i in reversed(range(len(chain))) if unites(chain[i])), None)
        if place is None:
            return [chain]
        union = chain[place]
        return [[*self.path_to(above), *chain[place:]] for _, above in self.inputs_of(union)] or [chain]

    def sources_of(self, node: DraftNode) -> list[DraftNode]:
        """Return the first node of each chain to a node."""
        return [chain[0] for chain in self.chains_to(node)]

    def source_of(self, node: DraftNode) -> DraftNode | None:
        """Return the first node of the chain of first inputs; None for a cycle."""
        seen: set[Pointer] = set()
        while node.at not in seen:
            spend(2)
            seen.add(node.at)
            above = next(self.inputs_of(node), None)
            if above is None:
                return node
            node = above[1]
        return None


def unites(node: DraftNode) -> bool:
    """Return whether a node unites the rows of all its inputs."""
    return any(isinstance(part.spec, Union) for part in node.parts)


def check_graph(graph: Graph) -> Iterator[Diagnostic]:
    """Yield the errors of all rules in this module."""
    for node in graph.nodes:
        yield from _check_id(node, graph)
        yield from _check_inputs(node, graph)
        yield from _check_readers(node, graph)
    yield from _check_cycles(graph)


def _check_id(node: DraftNode, graph: Graph) -> Iterator[Diagnostic]:
    if node.id is not None and (first := graph.by_id[node.id]) is not node:
        yield diagnose("id.repeated", node.at / "id", f"The id {shown(node.id)} is already used by {first.at}.")


def _check_inputs(node: DraftNode, graph: Graph) -> Iterator[Diagnostic]:
    for i, name in enumerate(node.inputs):
        if name is not None and name not in graph.by_id:
            yield _unknown_input(name, node.at / "inputs" / i, graph)
    for pointer, source in graph.inputs_of(node):
        if source.kind in _TARGETS:
            yield diagnose("inputs.is_target", pointer, f"{source.id} is a target. No node can read from it.")
    may_have_several = node.kind == "transform" and len(node.inputs) > 1  # see ir.joins and ir.unions
    if node.kind in _READERS and len(node.inputs) != 1 and not may_have_several:
        message = f"{node.id} reads from {len(node.inputs)} nodes instead of one."
        yield diagnose("inputs.count", node.at / "inputs", message)


def _unknown_input(name: str, at: Pointer, graph: Graph) -> Diagnostic:
    near = guess(name, graph.by_id)
    fixes = [[{"op": "replace", "path": str(at), "value": near}]] if near else []
    message = f"Unknown node {shown(name)}. Nodes: {listed(graph.by_id)}."
    return diagnose("inputs.unknown", at, message, fixes=fixes)


_READERS = frozenset(name for name, kind in NODES.items() if issubclass(kind, InnerNode))
_TARGETS = frozenset(name for name, kind in NODES.items() if issubclass(kind, Target))
_AFTER_VALIDATE = frozenset(name for name, kind in NODES.items() if issubclass(kind, Target | Validate))


def _check_readers(node: DraftNode, graph: Graph) -> Iterator[Diagnostic]:
    readers = graph.readers[node.id] if node.id is not None else []
    if node.kind in NODES and node.kind not in _TARGETS and node.id is not None and not readers:
        yield diagnose("node.feeds_nothing", node.at, f"No node reads from {node.id}.")
    if node.kind in _AFTER_VALIDATE - _TARGETS:
        for reader in readers:
            if reader.kind in NODES and reader.kind not in _AFTER_VALIDATE:
                pointer = reader.at / "inputs" / reader.inputs.index(node.id)
                message = f"{node.id} can only feed targets and validate nodes, not {reader.id}."
                yield diagnose("validate.must_feed_target", pointer, message)


def _check_cycles(graph: Graph) -> Iterator[Diagnostic]:
    """Report each reference that closes a cycle. Iterative, because chains may be long."""
    done: set[Pointer] = set()
    for start in graph.nodes:
        if start.at in done:
            continue
        trail = [start]
        on_trail = {start.at}
        pending = [graph.inputs_of(start)]
        while pending:
            spend(5)
            pointer, node = next(pending[-1], (None, None))
            if pointer is None or node is None:
                done.add(trail[-1].at)
                on_trail.discard(trail.pop().at)
                pending.pop()
            elif node.at in on_trail:
                circle = " → ".join(str(n.id) for n in [*trail[trail.index(node) :], node])
                yield diagnose("graph.cycle", pointer, f"These nodes form a cycle: {circle}.")
            elif node.at not in done:
                trail.append(node)
                on_trail.add(node.at)
                pending.append(graph.inputs_of(node))


def known_columns(graph: Graph, seen: Mapping[str, Sequence[str]] | None = None) -> dict[Pointer, Columns]:
    """Return what is known of the columns of each node's first input, by the node's position. `seen` are the columns of
    sources so far, by their ids."""
    arriving: dict[Pointer, Columns] = {}
    for node in graph.nodes:
        chain = [node]
        while chain[-1].at not in arriving and (above := graph.first_input_of(chain[-1])) is not None:
            spend(2)
            if len(chain) > len(graph.nodes):  # a cycle
                break
            chain.append(above)
        for reached in reversed(chain):
            above = graph.first_input_of(reached)
            arriving.setdefault(reached.at, columns_of(above, arriving, seen or {}) if above else Columns())
    return arriving


def columns_of(node: DraftNode, arriving: Mapping[Pointer, Columns], seen: Mapping[str, Sequence[str]]) -> Columns:
    """Return what is known of the output columns of a node. `arriving` are the input columns by node."""
    if node.spec is None or node.at not in arriving:
        return Columns()
    spend(10 + len(arriving[node.at].present))
    columns = node.spec.columns_after(arriving[node.at])
    names = seen.get(node.id or "") if isinstance(node.spec, Source) else None
    return columns if names is None else replace(columns, seen=tuple(names))
