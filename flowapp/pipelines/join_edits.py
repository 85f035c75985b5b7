"""Update the further inputs of a node when the form changes its joins: one field sets both."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ir.json_edits import Patch
from ir.pointers import Pointer


def is_reference(steps: list[str | int]) -> bool:
    """Return whether a position in the document is the reference of a join."""
    return len(steps) == 5 and (steps[0], steps[2], steps[4]) == ("nodes", "ops", "with")


def follow_reference(document: Any, steps: list[str | int], before: Any, after: Any) -> Patch:
    """Return the patch that replaces the input `before` by `after` when a join names `after` instead."""
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
    """Return the patch that removes the joins of a node with a removed reference."""
    ops = node.get("ops")
    found = [
        i
        for i, op in enumerate(ops if isinstance(ops, list) else ())
        if isinstance(op, Mapping) and op.get("with") == slug
    ]
    return [{"op": "remove", "path": str(at / "ops" / i)} for i in reversed(found)]
