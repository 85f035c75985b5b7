"""Rules about sources that provide the changes of a table, and the targets that apply them."""

from __future__ import annotations

from collections.abc import Iterator

from ir.connectors import CONNECTORS
from ir.diagnostics import Diagnostic, Patch, diagnose, shown
from ir.graph import Graph
from ir.nodes import Branch, Source, Target, Transform
from ir.ops import Cast, Custom, Derive, Drop, FillNull, Flatten, JsonPath, Op, RegexExtract, Rename, Select, Trim
from ir.structure import DraftNode

ONE_TO_ONE: tuple[type[Op], ...] = (
    Cast,
    Custom,
    Derive,
    Drop,
    FillNull,
    Flatten,
    JsonPath,
    RegexExtract,
    Rename,
    Select,
    Trim,
)
"""The operations whose result for a row depends on that row alone, and that neither remove nor add rows."""


def follows_changes(node: DraftNode | None) -> bool:
    """Return whether a node is a source that provides changes."""
    if node is None or not isinstance(node.spec, Source) or node.spec.connector not in CONNECTORS:
        return False
    return CONNECTORS[node.spec.connector].follows_changes


def check_changes(graph: Graph) -> Iterator[Diagnostic]:
    """Yield the findings of all rules in this module."""
    readers: dict[str | None, list[DraftNode]] = {}
    for node in graph.nodes:
        if isinstance(node.spec, Target):
            heads = [head for head in graph.sources_of(node) if follows_changes(head)]
            for head in heads:
                readers.setdefault(head.id, []).append(node)
            yield from _check_target(node, node.spec, heads, graph)
        for pointer, head in list(graph.inputs_of(node))[1:]:
            if follows_changes(head):
                message = f"{head.id} provides changes. A join or a union needs all rows of its table."
                yield diagnose("cdc.mode_required", pointer, message)
    for source, targets in readers.items():
        for other in targets[1:]:
            message = f"{targets[0].id} applies the changes of {source} too, and a replication slot is read once."
            yield diagnose("cdc.one_target", other.at / "inputs", message)


def _check_target(node: DraftNode, target: Target, heads: list[DraftNode], graph: Graph) -> Iterator[Diagnostic]:
    applies, named = target.load_mode == "cdc_mirror", graph.by_id.get(target.cdc_source or "")
    if heads and not applies:
        message = f"{heads[0].id} provides changes, which {target.load_mode} cannot apply."
        fix: Patch = [
            {"op": "replace", "path": str(node.at / "loadMode"), "value": "cdc_mirror"},
            {"op": "add", "path": str(node.at / "cdcSource"), "value": heads[0].id},
        ]
        yield diagnose("cdc.mode_required", node.at / "loadMode", message, fixes=[fix])
    if not applies or not follows_changes(named):
        return
    if [head.id for head in graph.sources_of(node)] != [target.cdc_source]:
        message = f"The rows of {node.id} do not come from {shown(target.cdc_source)} alone."
        yield diagnose("cdc.other_source", node.at / "cdcSource", message)
        return
    for step in graph.path_to(node):
        yield from _check_one_to_one(step)


def _check_one_to_one(node: DraftNode) -> Iterator[Diagnostic]:
    """Refuse what removes, adds, joins or moves rows: a later change of the row could not be applied to its result."""
    if isinstance(node.spec, Branch):
        message = f"{node.id} sends rows to branches, so that a change could move a row from one table to another."
        yield diagnose("cdc.rows_not_one_to_one", node.at, message)
    for i, op in enumerate(node.spec.ops if isinstance(node.spec, Transform) else ()):
        if not isinstance(op, ONE_TO_ONE):
            message = f"The operation {op.op} does not make exactly one row of each row by itself."
            yield diagnose("cdc.rows_not_one_to_one", node.at / "ops" / i, message)
