"""Templates: initial nodes of a new pipeline."""

from __future__ import annotations

import json
from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, NamedTuple

from flowapp.accounts.models import User
from flowapp.pipelines.drafts import empty_text, open_draft, replace_text
from flowapp.pipelines.models import Pipeline
from flowapp.pipelines.skeletons import new_node
from flowapp.starting.documents import document_text
from ir.connectors import connection_kinds_of

Changes = Mapping[str, Mapping[str, Any]]


class Template(NamedTuple):
    """A template. `kinds` are the kinds of its nodes in order; `changes` are the differences from a new node, by
    kind."""

    label: str
    help: str
    kinds: tuple[str, ...] = ()
    changes: Changes = MappingProxyType({})


BLANK = "blank"
_TABLE_SOURCE = {"connector": "postgres", "config": {"table": {"schema": "public", "name": ""}}}
TEMPLATES: dict[str, Template] = {
    BLANK: Template("Blank", "No nodes. Add them on the canvas."),
    "checked-files": Template(
        "Files with rules",
        "Reads a folder, checks the rows, keeps the rejected ones and appends the others to a table.",
        ("source", "validate", "target"),
    ),
    "replaced-table": Template(
        "Files that replace a table",
        "Reads a folder and replaces all rows of a table at once, while readers see the old rows or the new ones.",
        ("source", "validate", "target"),
        {"target": {"loadMode": "blue_green", "hold": {"maxDecreasePct": 50}}},
    ),
    "new-rows": Template(
        "New rows of a table",
        "Reads the rows of a table that are above the highest loaded value of a column, on each run.",
        ("source", "target"),
        {"source": _TABLE_SOURCE, "target": {"loadMode": "incremental_watermark"}},
    ),
}


def put_template(pipeline: Pipeline, user: User, name: str, connection: str) -> None:
    """Make a template the draft of a new pipeline."""
    template = TEMPLATES[name]
    if not template.kinds:
        return
    document = json.loads(empty_text(pipeline))
    document["nodes"] = _nodes(template, pipeline.slug, connection)
    replace_text(open_draft(pipeline, user), document_text(document), label=f"Template: {template.label}")


def _nodes(template: Template, pipeline: str, connection: str) -> list[dict[str, Any]]:
    nodes: list[dict[str, Any]] = []
    for kind in template.kinds:
        reads = nodes[-1]["id"] if nodes else ""
        node = {**new_node(kind, [], connection, pipeline, reads), **template.changes.get(kind, {})}
        if kind == "source" and connection_kinds_of(node):
            node["connection"] = connection
        nodes.append(node)
    return nodes
