"""Update the ends of branches when nodes are added, renamed or removed."""

from __future__ import annotations

from typing import Any

from flowapp.pipelines.checking import nodes_of
from ir.json_edits import Patch
from ir.pointers import ROOT, Pointer


def branches_to(document: Any, slug: str, of: str | None = None) -> list[Pointer]:
    """Return the positions that name a node as the end of a branch, in all branch nodes or in one, in reverse order."""
    found: list[Pointer] = []
    for at, node in nodes_of(document):
        if node.get("kind") != "branch" or of not in (None, node.get("id")):
            continue
        branches = node.get("branches")
        for i, branch in enumerate(branches if isinstance(branches, list) else ()):
            if isinstance(branch, dict) and branch.get("to") == slug:
                found.append(at / "branches" / i / "to")
        if node.get("default") == slug:
            found.append(at / "default")
    return found[::-1]


def add_branch(document: Any, source: str, reader: str) -> Patch:
    """Add a branch for a new reader of a branch node. The user enters its condition later."""
    at, node = next(((at, node) for at, node in nodes_of(document) if node.get("id") == source), (ROOT, {}))
    if node.get("kind") != "branch" or branches_to(document, reader, source):
        return []
    branch, path = {"to": reader, "where": ""}, at / "branches"
    if isinstance(node.get("branches"), list):
        return [{"op": "add", "path": str(path / "-"), "value": branch}]
    return [{"op": "add", "path": str(path), "value": [branch]}]


def drop_branches(document: Any, slug: str, of: str | None = None) -> Patch:
    """Remove the branches that lead to a removed node; with `of`, only those of a node from which it no longer
    reads."""
    places = branches_to(document, slug, of)
    return [{"op": "remove", "path": str(at if at[-1] == "default" else at.parent)} for at in places]
