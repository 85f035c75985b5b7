"""Extract the part of a draft that a preview of one node needs: the path from the source through the node to a target.
The rest of the draft may be unfinished."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from flowapp.pipelines.checking import check_text
from flowapp.pipelines.drafts import DraftView
from flowapp.pipelines.edits import find_node
from flowapp.pipelines.neighbours import (
    branch_ends,
    joining,
    nodes_above,
    nodes_below,
    with_references,
    without_quarantine,
)
from ir.diagnostics import Diagnostic
from ir.errors import FlowError

Node = dict[str, Any]
STAND_IN = {
    "kind": "target",
    "connector": "postgres",
    "connection": "preview",
    "schema": "public",
    "loadMode": "truncate",
}
"""A target that is never loaded, because every document needs a target. Its load mode may follow all operations."""
TARGET_SETTINGS = ("emptyAsNull", "onTypeMismatch")
"""The settings of a target that affect the rows of the nodes before it."""


@dataclass(frozen=True, slots=True)
class DraftedPath:
    """The text of a pipeline whose first target is at the end of the path. If that is a stand-in, `without_target` says
    why."""

    document: str
    without_target: str = ""


def drafted_path(view: DraftView, slug: str) -> DraftedPath:
    """Return the path through a node, as far as the draft has no errors, and at least up to the node. Raises FlowError
    `preview.not_ready`."""
    if view.document is None:
        raise _not_ready("The JSON text of the draft is invalid.", "Correct it on the JSON tab.")
    node = find_node(view.document, slug)[1]
    above = list(reversed(nodes_above(view.document, node)))
    if (above or [node])[0].get("kind") != "source":
        raise _not_ready(f"{slug} reads from no source yet.", "Connect it to a node that leads to a source.")
    below = nodes_below(view.document, node)
    whole = [*above, node, *below]
    why = _without_target(view.document, node) if whole[-1].get("kind") != "target" else ""
    if not why:
        text, errors = _checked(view, whole)
        if not errors:
            return DraftedPath(text)
        if node is whole[-1]:
            raise _faulty(errors)
        why = f"Nodes after {slug} are ignored, because they have an error: {errors[0].message}"
    text, errors = _checked(view, [*above, node, _stand_in(slug, below)])
    if errors:
        raise _faulty(errors)
    return DraftedPath(text, why)


def _without_target(document: Any, node: Node) -> str:
    """Return why no target reads the node."""
    names = [str(other.get("id")) for other in joining(document, node)]
    return f"Rows are looked up in these by {' and '.join(names)}." if names else "No target reads these rows yet."


def _stand_in(slug: str, below: Sequence[Node]) -> Node:
    """Return a target with the settings of the real one that affect the rows before it."""
    real: Node = below[-1] if below and below[-1].get("kind") == "target" else {}
    return _stand_in_named(f"{slug}_preview"[-63:].lstrip("0123456789_-"), slug, real)


def _stand_in_named(name: str, above: str, real: Node) -> Node:
    known = {name: real[name] for name in TARGET_SETTINGS if real.get(name) not in (None, "")}
    return {"id": name, **STAND_IN, "table": name, "inputs": [above], **known}


def _checked(view: DraftView, nodes: Sequence[Node]) -> tuple[str, list[Diagnostic]]:
    """Return the text of a pipeline of these nodes, and its errors, without those of stand-ins. It has no quarantines,
    because a preview stores no rejected rows, and a stand-in is in no database that could store them."""
    ends = [_end(name, branch, nodes[-1]) for branch, name in branch_ends(view.document, nodes)]
    whole = [without_quarantine(node) for node in (*with_references(view.document, nodes), *ends)]
    pipeline = view.draft.pipeline
    text = json.dumps({"kind": "pipeline", "version": "1.0", "id": pipeline.slug, "nodes": whole})
    stand_ins = {("nodes", i) for i, node in enumerate(whole) if node.items() >= STAND_IN.items()}
    errors = check_text(pipeline.workspace, text).errors
    return text, [error for error in errors if error.path[:2] not in stand_ins]


def _end(name: str, branch: Node, target: Node) -> Node:
    """Return a target in place of the end of another branch, which is not previewed."""
    return _stand_in_named(name, branch["id"], target)


def _faulty(errors: Sequence[Diagnostic]) -> FlowError:
    hints = dict.fromkeys(error.hint for error in errors if error.hint)
    return _not_ready(" ".join(error.message for error in errors[:3]), " ".join(list(hints)[:3]))


def _not_ready(message: str, hint: str) -> FlowError:
    return FlowError("preview.not_ready", message, hint=hint)
