"""What of a draft is needed to sample its source: the nodes from the source to a validate node, and where to keep the
sample. The rest of the draft may be unfinished."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from flowapp.pipelines.checking import check_text, nodes_of
from flowapp.pipelines.drafts import DraftView
from flowapp.pipelines.edits import find_node
from ir.diagnostics import InvalidPipeline
from ir.errors import FlowError

Node = dict[str, Any]
COPIED_TARGET_FIELDS = ("schema", "emptyAsNull")
SAMPLE_TABLE = "flow_sample"
"""Never created: the sample is kept in Flow's own table of that database."""


def draft_to_sample(view: DraftView, slug: str) -> str:
    """The text of a small pipeline that reads the draft's source as the validate node does. Raises FlowError."""
    if view.document is None:
        raise _not_ready("The JSON text of the draft is invalid.", "Correct it on the JSON tab.")
    node = find_node(view.document, slug)[1]
    if node.get("kind") != "validate":
        raise FlowError("node.unknown", f"{slug} is not a validate node.", hint="Only validate nodes have rules.")
    above = list(_above(view.document, node))
    if not above or above[-1].get("kind") != "source":
        raise _not_ready(f"{slug} reads from no source yet.", "Choose a node in the field Reads from.")
    check = {"id": slug, "kind": "validate", "inputs": node["inputs"], "rowLevel": []}
    nodes = [*reversed(above), check, _target(view, slug, above[-1])]
    text = json.dumps({"kind": "pipeline", "version": "1.0", "id": view.draft.pipeline.slug, "nodes": nodes})
    try:
        check_text(view.draft.pipeline.workspace, text).require_valid()
    except InvalidPipeline as invalid:
        wrong = [d for d in invalid.diagnostics if d.severity == "error"]
        raise _not_ready(" ".join(d.message for d in wrong), " ".join(d.hint for d in wrong)) from None
    return text


def _above(document: Any, node: Node) -> Iterator[Node]:
    """The nodes that a node reads from, the nearest first."""
    by_id = {str(other.get("id")): other for _, other in nodes_of(document)}
    seen: set[str] = set()
    while isinstance(inputs := node.get("inputs"), list) and len(inputs) == 1 and inputs[0] in by_id:
        if inputs[0] in seen:
            return
        seen.add(inputs[0])
        node = by_id[inputs[0]]
        yield node


def _target(view: DraftView, slug: str, source: Node) -> Node:
    """Where the sample is kept: in the database of the target that the node feeds, else of the source, else in the only
    one that there is."""
    below = next(_targets_below(view.document, slug), {})
    known = view.checked.found.known
    named = [node["connection"] for node in (below, source) if node.get("connection") in known]
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
        "connector": "postgres",
        "connection": (named or known)[0],
        "schema": "public",
        "table": SAMPLE_TABLE,
        "loadMode": "append",
        **{name: below[name] for name in COPIED_TARGET_FIELDS if below.get(name) not in (None, "")},
    }


def _targets_below(document: Any, slug: str) -> Iterator[Node]:
    """The targets that a node feeds, directly or through others."""
    reached, pending = {slug}, [slug]
    while pending:
        above = pending.pop()
        for _, node in nodes_of(document):
            inputs, name = node.get("inputs"), str(node.get("id"))
            if isinstance(inputs, list) and above in inputs and name not in reached:
                reached.add(name)
                pending.append(name)
                if node.get("kind") == "target":
                    yield node


def _not_ready(message: str, hint: str) -> FlowError:
    return FlowError("sample.not_ready", message, hint=hint)
