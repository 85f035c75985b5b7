#!/usr/bin/env python
"""Writes docs/reference/document.md: every field of the document, from its JSON Schema. Run it when fields change.

It also writes the names that transforms in TypeScript may use."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[1]))

from ir.schema import schema_document
from tools.transform_types import FILE, names

PAGE = Path(__file__).parents[1] / "docs/reference/document.md"
Schema = dict[str, Any]

HEAD = """\
# The pipeline document

All fields of a pipeline document. `tools/document_reference.py` writes this page from the JSON Schema, which
`flow schema export` prints. Fields in **bold** are required.
"""


def page() -> str:
    document = schema_document()
    definitions = document["$defs"]
    names = ["Pipeline", *sorted((name for name in definitions if name != "Pipeline"), key=_order(definitions))]
    return HEAD + "".join(part for name in names for part in _section(definitions[name], definitions))


def _order(definitions: dict[str, Schema]) -> Any:
    """Return the sort key of definitions: nodes first, then their parts, in the order in which the schema mentions
    them."""
    mentioned = list(dict.fromkeys(_references(definitions["Pipeline"], definitions, set())))
    return lambda name: (mentioned.index(name) if name in mentioned else len(mentioned), name)


def _references(schema: Any, definitions: dict[str, Schema], seen: set[str]) -> Iterator[str]:
    """Yield the definitions below a schema, each before those that it mentions."""
    if isinstance(schema, list):
        for item in schema:
            yield from _references(item, definitions, seen)
    elif isinstance(schema, dict):
        name = _name_of(schema)
        if name and name not in seen:
            seen.add(name)
            yield name
            yield from _references(definitions[name], definitions, seen)
        for part in schema.values():
            yield from _references(part, definitions, seen)


def _section(schema: Schema, definitions: dict[str, Schema]) -> Iterator[str]:
    tag = next((f"`{name}: {part['const']}`" for name, part in schema["properties"].items() if "const" in part), "")
    yield f"\n## {schema['title']}\n"
    text = " ".join(schema.get("description", "").split())
    yield f"\n{tag}{': ' if tag and text else ''}{text}\n" if tag or text else ""
    rows = [_row(name, part, schema, definitions) for name, part in schema["properties"].items() if "const" not in part]
    if rows:
        yield "\n| field | value | title | meaning |\n|---|---|---|---|\n" + "".join(rows)


def _row(name: str, use: Schema, schema: Schema, definitions: dict[str, Schema]) -> str:
    """Return the row of a field. The attributes of the definition apply unless the field overrides them."""
    part = {**definitions.get(_name_of(use), {}), **use}
    shown = f"**`{name}`**" if name in schema.get("required", ()) else f"`{name}`"
    title = part.get("title", "") + (f" ({part['unit']})" if "unit" in part else "")
    cells = (shown, _value(use, definitions), title, _meaning(part))
    return "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |\n"


def _name_of(part: Schema) -> str:
    return str(part.get("$ref", "")).rpartition("/")[2]


def _value(part: Schema, definitions: dict[str, Schema]) -> str:
    if "$ref" in part:
        return str(definitions[_name_of(part)]["title"])
    if "oneOf" in part:
        return " or ".join(dict.fromkeys(_value(option, definitions) for option in part["oneOf"]))
    if "enum" in part:
        return ", ".join(f"`{value}`" for value in part["enum"])
    if part.get("type") == "array":
        return f"list of: {_value(part['items'], definitions)}"
    kind = part.get("type", "")
    return " or ".join(kind) if isinstance(kind, list) else str(kind)


def _meaning(part: Schema) -> str:
    default = part.get("default")
    known = "" if default in (None, [], "") or isinstance(default, dict) else f" Default: `{json.dumps(default)}`."
    examples = [example for example in part.get("examples", ()) if isinstance(example, str)]
    example = f" Example: `{examples[0]}`." if examples else ""
    return " ".join(part.get("description", "").split()) + known + example


if __name__ == "__main__":
    PAGE.write_text(page())
    FILE.write_text(names())
