"""Rules about branch nodes: where their branches lead, which conditions can be true, and which settings their targets
share."""

from __future__ import annotations

from collections.abc import Iterator

from ir.budget import spend
from ir.diagnostics import Diagnostic, diagnose, listed, shown
from ir.expressions import ExpressionError, parse_expression
from ir.graph import Graph
from ir.nodes.branch import Branch
from ir.nodes.target import Target
from ir.pointers import Pointer
from ir.spelling import guess
from ir.structure import DraftNode

SHARED = ("on_type_mismatch", "empty_as_null")
"""Settings of a target that apply to values before the branch: with different settings a row could go to two branches
or to none."""


def check_branches(graph: Graph) -> Iterator[Diagnostic]:
    """Yield the errors of all rules in this module."""
    for node in graph.nodes:
        if isinstance(node.spec, Branch):
            yield from _check_readers(node, node.spec, graph)
            yield from _check_conditions(node.spec, node.at)
            yield from _check_targets(node, graph)


def _check_readers(node: DraftNode, branch: Branch, graph: Graph) -> Iterator[Diagnostic]:
    """Check that branches lead to the nodes that read from the node, and to no others."""
    readers = {reader.id: reader for reader in graph.readers[branch.id] if reader.id is not None}
    for name, at in branch.leading_to(node.at):
        if name not in readers:
            yield _not_a_reader(name, at, node, graph, [other for other in readers if other not in branch.readers])
    for name, reader in readers.items():
        at = reader.at / "inputs" / reader.inputs.index(branch.id)
        if name not in branch.readers and reader.inputs[0] == branch.id:
            message = f"{name} reads from {branch.id}, but no branch leads to it."
            fixes = [[{"op": "add", "path": str(node.at / "default"), "value": name}]] if not branch.default else []
            yield diagnose("branch.reader_unnamed", at, message, fixes=fixes)


def _not_a_reader(name: str, at: Pointer, node: DraftNode, graph: Graph, free: list[str]) -> Diagnostic:
    message = f"{shown(name)} does not read from {node.id}. Nodes that do, without a branch: {listed(free) or 'none'}."
    near = guess(name, free)
    if near is not None:
        return diagnose("branch.to_unknown", at, message, fixes=[[{"op": "replace", "path": str(at), "value": near}]])
    other = graph.by_id.get(name)
    fixes = []
    if other is not None and other.kind in ("transform", "branch", "validate", "target") and len(other.inputs) < 2:
        fixes.append([{"op": "add", "path": str(other.at / "inputs"), "value": [node.id]}])
    return diagnose("branch.to_unknown", at, message, fixes=fixes)


def _check_conditions(branch: Branch, at: Pointer) -> Iterator[Diagnostic]:
    """Warn of conditions that no row can reach, or that are never true."""
    earlier: dict[str, str] = {}
    always = ""
    for i, one in enumerate(branch.branches):
        spend(50)
        pointer, sql = at / "branches" / i / "where", _sql(one.where)
        if always:
            message = f"No row gets here: the condition of {always} is always true."
            yield diagnose("branch.unreachable", pointer, message)
        elif sql in ("FALSE", "NULL"):
            yield diagnose("branch.unreachable", pointer, f"No row goes to {one.to}: the condition is never true.")
        elif sql and sql in earlier:
            message = f"No row goes to {one.to}: {earlier[sql]} has the same condition and comes first."
            yield diagnose("branch.unreachable", pointer, message)
        earlier.setdefault(sql, one.to)
        always = always or (one.to if sql == "TRUE" else "")
    if always and branch.default:
        message = f"No row goes to {branch.default}: the condition of {always} is always true."
        yield diagnose("branch.unreachable", at / "default", message)


def _sql(text: str) -> str:
    """Return the condition as it is passed to Spark; "" for an invalid one."""
    try:
        return parse_expression(text).sql
    except ExpressionError:
        return ""


def _check_targets(node: DraftNode, graph: Graph) -> Iterator[Diagnostic]:
    """Check that all targets below a branch node read values in the same way."""
    targets = [one for one in graph.nodes if isinstance(one.spec, Target)]
    below = [one for one in targets if any(node in chain for chain in graph.chains_to(one))]
    first = below[0] if below else None
    for one in below[1:]:
        for name in SHARED:
            if first is not None and getattr(one.spec, name) != getattr(first.spec, name):
                alias = str(Target.model_fields[name].alias)
                message = f"{one.id} and {first.id} get rows of {node.id}, so that both need the same {alias}."
                value = getattr(first.spec, name)
                fixes = [[{"op": "add", "path": str(one.at / alias), "value": value}]]
                yield diagnose("branch.settings_differ", one.at / alias, message, fixes=fixes)
