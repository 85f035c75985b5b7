"""Extract the part of a draft that sampling needs: the path from the source to a validate node, and the database for
the sample. The rest of the draft may be unfinished."""

from __future__ import annotations

import json
from collections.abc import Iterator
from itertools import pairwise, takewhile
from typing import Any

from flowapp.pipelines.checking import check_text
from flowapp.pipelines.drafts import DraftView
from flowapp.pipelines.edits import find_node
from flowapp.pipelines.neighbours import nodes_above, readers_of, with_references, without_quarantine
from ir.diagnostics import InvalidPipeline
from ir.errors import FlowError

Node = dict[str, Any]
CONNECTOR = "postgres"
"""Samples are stored in databases."""
COPIED_TARGET_FIELDS = ("schema", "emptyAsNull", "onTypeMismatch")
SAMPLE_TABLE = "flow_sample"
"""This table is never created: the sample is stored in Flow's own table of that database."""


def draft_to_sample(view: DraftView, slug: str) -> str:
    """Return the text of a small pipeline that reads the source of the draft like the validate node. Raises
    FlowError."""
    if view.document is None:
        raise _not_ready("The JSON text of the draft is invalid.", "Correct it on the JSON tab.")
    node = find_node(view.document, slug)[1]
    if node.get("kind") != "validate":
        raise FlowError("node.unknown", f"{slug} is not a validate node.", hint="Only validate nodes have rules.")
    above = nodes_above(view.document, node)
    if not above or above[-1].get("kind") != "source":
        raise _not_ready(f"{slug} reads from no source yet.", "Choose a node in the field Reads from.")
    check = {"id": slug, "kind": "validate", "inputs": node["inputs"], "rowLevel": []}
    path = [without_quarantine(one) for one in _branches_as_filters([*reversed(above), node])]
    nodes = [*with_references(view.document, path), check, _target(view, node, above[-1])]
    text = json.dumps({"kind": "pipeline", "version": "1.0", "id": view.draft.pipeline.slug, "nodes": nodes})
    try:
        check_text(view.draft.pipeline.workspace, text).require_valid()
    except InvalidPipeline as invalid:
        wrong = [d for d in invalid.diagnostics if d.severity == "error"]
        raise _not_ready(" ".join(d.message for d in wrong), " ".join(d.hint for d in wrong)) from None
    return text


def _branches_as_filters(nodes: list[Node]) -> list[Node]:
    """Return the nodes before the last one, with a filter in place of each branch node, because the other branches are
    not part of the path."""
    return [
        {"id": node["id"], "kind": "transform", "inputs": node["inputs"], "ops": [_filter(node, str(reader.get("id")))]}
        if node.get("kind") == "branch"
        else node
        for node, reader in pairwise(nodes)
    ]


def _filter(branch: Node, reader: str) -> Node:
    """Return a filter with the condition of the rows for one reader: true for its branch and false for the branches
    before it."""
    found = [one for one in branch.get("branches") or () if isinstance(one, dict)]
    before = list(takewhile(lambda one: one.get("to") != reader, found))
    terms = [f"NOT coalesce(({one.get('where')}), FALSE)" for one in before]
    terms += [f"({one.get('where')})" for one in found[len(before) : len(before) + 1]]
    return {"op": "filter", "where": " AND ".join(terms)}


def _target(view: DraftView, node: Node, source: Node) -> Node:
    """Return where the sample is stored: in the database of the target that the node feeds, else of its rejected rows,
    else of the source, else in the only database of the workspace."""
    slug, below = str(node["id"]), next(_targets_below(view.document, node), {})
    known = view.checked.found.names_for({"kind": "target", "connector": CONNECTOR})
    rejects = quarantine if isinstance(quarantine := node.get("quarantine"), dict) else {}
    named = [one["connection"] for one in (below, rejects, source) if one.get("connection") in known]
    if not named and len(known) != 1:
        raise _not_ready(
            f"{slug} feeds no target with a connection yet, so there is no database to store a sample in.",
            "Add a target that reads from it, and choose its connection.",
        )
    name = str(below.get("id") or f"{slug}_sample"[-63:])
    return {
        "id": name,
        "kind": "target",
        "inputs": [slug],
        "connector": CONNECTOR,
        "connection": (named or known)[0],
        "schema": "public",
        "table": SAMPLE_TABLE,
        "loadMode": "append",
        **{name: below[name] for name in COPIED_TARGET_FIELDS if below.get(name) not in (None, "")},
    }


def _targets_below(document: Any, node: Node) -> Iterator[Node]:
    """Return the targets that a node feeds, directly or through others, the nearest first."""
    reached = [node]
    for above in reached:
        for reader in readers_of(document, above):
            if reader not in reached:
                reached.append(reader)
                if reader.get("kind") == "target":
                    yield reader


def _not_ready(message: str, hint: str) -> FlowError:
    return FlowError("sample.not_ready", message, hint=hint)
