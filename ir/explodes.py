"""Rules about the op explode: the ops that are allowed before and after it, and the targets of its rows."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from ir.columns import Columns
from ir.diagnostics import Diagnostic, diagnose
from ir.graph import Graph
from ir.load_modes import load_mode
from ir.nodes import Branch, Target, Transform
from ir.ops import Explode, Op
from ir.pointers import Pointer
from ir.structure import DraftNode

Place = tuple[Op | None, Pointer]
"""An op, or None for a branch node, and its position."""


def check_explodes(graph: Graph) -> Iterator[Diagnostic]:
    """Check all rules of this module. Each position is reported once, also if it leads to several targets."""
    reported: set[tuple[str, Pointer]] = set()
    for node in graph.nodes:
        for found in _findings(node, graph):
            if (key := (found.code, found.path)) not in reported:
                reported.add(key)
                yield found


def _findings(node: DraftNode, graph: Graph) -> Iterator[Diagnostic]:
    if isinstance(node.spec, Target):
        for places in map(_places_of, graph.chains_to(node)):
            explodes = [i for i, (op, _) in enumerate(places) if isinstance(op, Explode)]
            if explodes:
                yield from _check_path(places, explodes)
                yield from _check_target(node.spec, node.at)
                yield from _check_key(node.spec, node.at, [op for op, _ in places[explodes[0] :] if op is not None])
    elif isinstance(node.spec, Transform):
        for join, at in node.spec.joins(node.at):
            reference = graph.by_id.get(join.with_)
            if reference is not None and _explodes(reference, graph):
                message = f"{join.with_} cannot be a reference, because it explodes rows."
                yield diagnose("explode.reference", at / "with", message)


def _check_path(places: Sequence[Place], explodes: Sequence[int]) -> Iterator[Diagnostic]:
    first, *others = explodes
    for other in others:
        yield diagnose("explode.repeated", places[other][1], "The rows are exploded already.")
    for op, at in places[:first]:
        if op is None or not op.made_while_reading:
            yield diagnose("explode.order", at, f"{_named(op)} is not allowed before explode.")
    for op, at in places[first:]:
        if op is None or op.compares_rows:
            message = f"{_named(op)} is not allowed after explode: it could separate rows of one record."
            yield diagnose("explode.order", at, message)


def _named(op: Op | None) -> str:
    return f"The operation {op.op}" if op is not None else "A branch node"


def _check_target(target: Target, at: Pointer) -> Iterator[Diagnostic]:
    mode = load_mode(target.load_mode)
    if mode.keeps_watermark or mode.follows_stream:
        message = f"The load mode {target.load_mode} cannot load exploded rows."
        yield diagnose("explode.load_mode", at / "loadMode", message)


def _check_key(target: Target, at: Pointer, ops: Sequence[Op]) -> Iterator[Diagnostic]:
    """Warn of a key whose columns have the same values in all rows of a record."""
    columns, explode = Columns(), ops[0]
    for op in ops:
        columns = op.columns_after(columns)
    key = target.upsert_key or []
    if key and load_mode(target.load_mode).needs_key and not any(columns.has(name) for name in key):
        index = explode.index_as if isinstance(explode, Explode) else None
        add = [{"op": "add", "path": str(at / "upsertKey" / "-"), "value": index}] if index else []
        message = f"All rows of an exploded record have the same key ({', '.join(key)})."
        yield diagnose("explode.key", at / "upsertKey", message, fixes=[add] if add else [])


def _explodes(reference: DraftNode, graph: Graph) -> bool:
    return any(isinstance(op, Explode) for op, _ in _places_of(graph.path_to(reference)))


def _places_of(chain: Sequence[DraftNode]) -> list[Place]:
    """Return the ops of the nodes of a chain, in order."""
    places: list[Place] = []
    for node in chain:
        if isinstance(node.spec, Transform):
            places += [(op, node.at / "ops" / i) for i, op in enumerate(node.spec.ops)]
        elif isinstance(node.spec, Branch):
            places.append((None, node.at))
    return places
