"""Every field of a document has a description in plain language."""

from __future__ import annotations

import re
from typing import Any

import pytest

from ir.nodes import NODES
from ir.schema import schema_document

SCHEMA = schema_document()
DEFINITIONS: dict[str, dict[str, Any]] = SCHEMA["$defs"]
WITHOUT_GROUP = {"kind", "inputs", "ui"}
"""Fields of nodes that have a place of their own on the page."""


def fields():
    for model, schema in DEFINITIONS.items():
        for name, part in schema["properties"].items():
            if "const" not in part:
                used = DEFINITIONS[part["$ref"].rpartition("/")[2]] if "$ref" in part else {}
                yield pytest.param({**used, **part}, id=f"{model}.{name}")


def kinds_of(field):
    """Return the kinds of a tagged union; an empty set for other fields."""
    models = [part["$ref"].rpartition("/")[2] for part in field.get("oneOf", ()) if "$ref" in part]
    tags = [DEFINITIONS[model]["properties"].get("type", {}).get("const") for model in models]
    return set(filter(None, tags))


@pytest.mark.parametrize("field", list(fields()))
def test_a_field_has_a_title_and_a_description(field):
    assert re.match(r"[A-Z][^A-Z]*", field["title"])
    assert re.fullmatch(r"[^`]*[.]", field["description"], re.DOTALL)


@pytest.mark.parametrize("model", list(DEFINITIONS))
def test_a_kind_has_a_title_and_a_description(model):
    assert " " in DEFINITIONS[model]["title"] or DEFINITIONS[model]["title"] == DEFINITIONS[model]["title"].capitalize()
    assert DEFINITIONS[model]["description"].endswith(".")


@pytest.mark.parametrize("field", list(fields()))
def test_the_values_that_have_a_name_are_values_of_the_field(field):
    assert set(field.get("labels", {})) in (set(), set(field.get("enum", ())), kinds_of(field))


@pytest.mark.parametrize("node", list(NODES.values()), ids=lambda node: node.__name__)
def test_every_field_of_a_node_belongs_to_one_of_its_groups(node):
    schema = DEFINITIONS[node.__name__]
    groups = {part.get("group") for name, part in schema["properties"].items() if name not in WITHOUT_GROUP}
    assert groups == set(schema["groups"])
