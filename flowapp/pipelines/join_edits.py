"""Further inputs of a node, which follow the joins that name them: the form has one field for both."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ir.json_edits import Patch
from ir.pointers import Pointer


def is_reference(steps: list[str | int]) -> bool:
    """Whether a place in the document is the reference of a join."""
    return len(steps) == 5 and (steps[0], steps[2], steps[4]) == ("nodes", "ops", "with")


def follow_reference(document: Any, steps: list[str | int], before: Any, after: Any) -> Patch:
    """Make the inputs of a node follow a join that names `after` instead of `before`."""
    _, index, _, number, _ = steps
    node = document["nodes"][index]
    inputs, at = node.get("inputs"), Pointer(("nodes", index, "inputs"))
    if not isinstance(inputs, list) or not inputs or not isinstance(after, str) or after in inputs:
        return []
    others = {op.get("with") for i, op in enumerate(node["ops"]) if isinstance(op, Mapping) and i != number}
    if before in inputs[1:] and before not in others:
        return [{"op": "replace", "path": str(at / inputs.index(before, 1)), "value": after}]
    return [{"op": "add", "path": str(at / "-"), "value": after}]


def drop_references(node: Mapping[str, Any], at: Pointer, slug: str) -> Patch:
    """Remove the joins of a node with a reference that is removed."""
    ops = node.get("ops")
    found = [
        i
        for i, op in enumerate(ops if isinstance(ops, list) else ())
        if isinstance(op, Mapping) and op.get("with") == slug
    ]
    return [{"op": "remove", "path": str(at / "ops" / i)} for i in reversed(found)]
