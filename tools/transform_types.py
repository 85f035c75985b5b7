"""Writes flow_transforms/typescript/names.ts: the functions and operations that TypeScript may use, from the tables of
`ir`. Run by `tools/document_reference.py`."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[1]))

from ir.expressions.functions import FUNCTIONS
from ir.json_schema import schema_of
from ir.ops import OPS
from ir.transform_code.methods import METHODS

FILE = Path(__file__).parents[1] / "flow_transforms/typescript/names.ts"
HEAD = "// Made by tools/document_reference.py from the tables of `ir`.\n\n"
Schema = dict[str, Any]


def names() -> str:
    """Return the text of the file."""
    return HEAD + "".join([*_functions(), *_operations()])


def _functions() -> Iterator[str]:
    yield "export type FunctionName =\n"
    yield "".join(f"  | {json.dumps(name)}\n" for name in sorted(FUNCTIONS)).rstrip("\n") + ";\n\n"


def _operations() -> Iterator[str]:
    """Yield the operations that are not methods of PySpark. Each takes its fields as one object."""
    yield "export interface Operations<DataFrame> {\n"
    for name in sorted(name for name in OPS if name not in METHODS):
        schema = schema_of(OPS[name])
        yield f"  /** {schema.get('description', '').splitlines()[0]} */\n"
        yield f"  {name}(fields: {_type(_without_tag(schema), schema.get('$defs', {}))}): DataFrame;\n"
    yield "}\n"


def _without_tag(schema: Schema) -> Schema:
    return {**schema, "properties": {name: part for name, part in schema["properties"].items() if name != "op"}}


def _type(schema: Schema, definitions: dict[str, Schema]) -> str:
    """Return the TypeScript type of a schema, or a wider type if TypeScript cannot express the schema."""
    if "$ref" in schema:
        return _type(definitions[schema["$ref"].rpartition("/")[2]], definitions)
    if "const" in schema or "enum" in schema:
        return " | ".join(json.dumps(value) for value in schema.get("enum", [schema.get("const")]))
    for union in ("anyOf", "oneOf"):
        if union in schema:
            return " | ".join(dict.fromkeys(_type(part, definitions) for part in schema[union]))
    kinds = schema.get("type", "unknown")
    found = (_TYPES.get(kind) or _STRUCTURES[kind](schema, definitions) for kind in _listed(kinds))
    return " | ".join(dict.fromkeys(found))


def _listed(kinds: str | list[str]) -> list[str]:
    return [kinds] if isinstance(kinds, str) else kinds


def _object(schema: Schema, definitions: dict[str, Schema]) -> str:
    if "properties" not in schema:
        return f"Readonly<Record<string, {_type(schema.get('additionalProperties') or {}, definitions)}>>"
    required = schema.get("required", ())
    fields = (
        f"readonly {name}{'' if name in required else '?'}: {_type(part, definitions)}"
        for name, part in schema["properties"].items()
    )
    return "{ " + "; ".join(fields) + " }"


_TYPES = {"string": "string", "integer": "number", "number": "number", "boolean": "boolean", "unknown": "unknown"}
_STRUCTURES = {
    "object": _object,
    "array": lambda schema, definitions: f"readonly ({_type(schema.get('items', {}), definitions)})[]",
}
