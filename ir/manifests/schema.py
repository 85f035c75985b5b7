"""The JSON Schema of manifests: of flow.toml, full documents and the short form together."""

from __future__ import annotations

from typing import Any

from pydantic import BaseModel
from pydantic.json_schema import models_json_schema

from ir.json_schema import DIALECT, SchemaGenerator
from ir.manifests.compiled_files import REFERENCE
from ir.manifests.project import ProjectSpec
from ir.manifests.short import ShortPipeline
from ir.nodes import Transform
from ir.schema import schema_document

MANIFEST_SCHEMA_ID = "https://flow.example/schemas/manifest-1.0.json"
_HEAD_KEYS = ("$schema", "$id", "$comment", "$defs", "title")


def manifest_schema() -> dict[str, Any]:
    """Return the schema (draft 2020-12) of every file of a project. Its keys select the form."""
    models: list[type[BaseModel]] = [ProjectSpec, ShortPipeline]
    refs, made = models_json_schema(
        [(model, "validation") for model in models], by_alias=True, schema_generator=SchemaGenerator
    )
    document = schema_document()
    shared = {**made["$defs"], **document["$defs"]}
    full = {key: value for key, value in document.items() if key not in _HEAD_KEYS}
    entry = {
        "if": {"anyOf": [{"required": ["nodes"]}, {"required": ["kind"]}]},
        "then": full,
        "else": refs[ShortPipeline, "validation"],
    }
    shared[Transform.__name__] = _with_reference(shared[Transform.__name__])
    shared[ProjectSpec.__name__]["properties"]["pipeline"]["items"] = {"type": "object", **entry}
    return {
        "$schema": DIALECT,
        "$id": MANIFEST_SCHEMA_ID,
        "title": "Flow manifest, version 1.0",
        "type": "object",
        "if": {"required": ["project"]},
        "then": refs[ProjectSpec, "validation"],
        "else": entry,
        "$defs": shared,
    }


def _with_reference(transform: dict[str, Any]) -> dict[str, Any]:
    """Return the schema of a transform node that may refer to compiled operations instead of having them."""
    reference = {
        "type": "string",
        "title": "Compiled operations",
        "description": "Instead of `ops`: the file with operations that `flow compile` wrote.",
        "examples": ["orders.transforms.json"],
    }
    return {
        **transform,
        "properties": {**transform["properties"], REFERENCE: reference},
        "required": [name for name in transform["required"] if name != "ops"],
        "oneOf": [{"required": ["ops"]}, {"required": [REFERENCE]}],
    }
