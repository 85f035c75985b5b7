"""The JSON Schema of the whole document, in which the name of a connector selects its settings."""

from __future__ import annotations

from typing import Any

from pydantic import BaseModel
from pydantic.json_schema import models_json_schema

from ir.connectors import CONNECTORS
from ir.json_schema import DIALECT, SchemaGenerator
from ir.nodes import Source
from ir.pipeline import Pipeline

SCHEMA_ID = "https://flow.example/schemas/pipeline-1.0.json"

_COMMENT = (
    "This schema cannot express three rules: 1.0 is not an integer; keys are not repeated; a number that a double "
    "cannot represent exactly is written as text."
)


def schema_document() -> dict[str, Any]:
    """Return the schema (draft 2020-12) for editors, the server and the command line."""
    configs = {connector.name: connector.config for connector in CONNECTORS.values() if connector.config is not None}
    models: list[type[BaseModel]] = [Pipeline, *configs.values()]
    refs, shared = models_json_schema(
        [(model, "validation") for model in models], by_alias=True, schema_generator=SchemaGenerator
    )
    shared["$defs"][Source.__name__]["allOf"] = [
        _settings_of(name, refs[config, "validation"]) for name, config in configs.items()
    ]
    head = {"$schema": DIALECT, "$id": SCHEMA_ID, "title": "Flow pipeline, version 1.0", "$comment": _COMMENT}
    return head | refs[Pipeline, "validation"] | shared


def _settings_of(connector: str, schema: dict[str, Any]) -> dict[str, Any]:
    """Return the condition for the settings of sources with this connector."""
    return {
        "if": {"properties": {"connector": {"const": connector}}, "required": ["connector"]},
        "then": {"properties": {"config": schema}},
    }
