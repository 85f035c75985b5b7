"""The rule about the access of custom transforms: a value that differs each time must not decide where a row goes."""

from __future__ import annotations

from collections.abc import Iterator

from ir.diagnostics import Diagnostic, diagnose
from ir.graph import Graph
from ir.nodes import Branch, Transform
from ir.ops import Custom
from ir.pointers import Pointer


def check_customs(graph: Graph) -> Iterator[Diagnostic]:
    """Refuse access to the clock or to random bytes before a branch node or an op that compares rows: each target, and
    each try of a task, computes the column again."""
    for node in graph.nodes:
        if isinstance(node.spec, Transform):
            for i, op in enumerate(node.spec.ops):
                if isinstance(op, Custom) and op.access and (later := _what_decides(node.spec, i, graph)):
                    message = f"{op.name} has access to {' and '.join(op.access)}, so its results must not decide "
                    yield _refused(node.at / "ops" / i / "access", f"{message}about rows in {later}.")


def _refused(at: Pointer, message: str) -> Diagnostic:
    return diagnose("custom.not_repeatable", at, message, fixes=[[{"op": "remove", "path": str(at)}]])


def _what_decides(transform: Transform, place: int, graph: Graph) -> str | None:
    """Return the first op or node below an op that compares or distributes rows."""
    for op in transform.ops[place + 1 :]:
        if op.compares_rows:
            return f"the operation {op.op}"
    seen, below = {transform.id}, list(graph.readers.get(transform.id, ()))
    while below:
        node = below.pop(0)
        if node.id is None or node.id in seen:
            continue
        seen.add(node.id)
        if isinstance(node.spec, Branch):
            return f"the branch node {node.id}"
        for op in node.spec.ops if isinstance(node.spec, Transform) else ():
            if op.compares_rows:
                return f"the operation {op.op} of {node.id}"
        below += graph.readers.get(node.id, ())
    return None
