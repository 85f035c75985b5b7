"""Find the schema of a position in a document, depending on the document's values.

Supports references, tagged unions, `X or list of X`, `text or object`, and properties added by `if`. Contains no
knowledge of pipelines."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any

Schema = dict[str, Any]
MISSING: Any = object()
"""Marks the absence of a value; None is JSON's null."""


@dataclass(frozen=True, slots=True)
class Resolved:
    """A schema without references, and what it describes.

    For a tagged union, `tag` is the key and `alternatives` are the schemas by its value; `schema` is the alternative
    that the document has chosen, or an empty object. `or_many` says that a list of such values is also valid.
    """

    schema: Schema
    tag: str = ""
    alternatives: dict[str, Schema] = field(default_factory=dict)
    or_many: bool = False

    @property
    def type(self) -> str | list[str]:
        found: str | list[str] = self.schema.get("type", "")
        return found


class SchemaTree:
    """A schema whose definitions have their title as `definition`, because a use of a definition may have its own
    title."""

    def __init__(self, document: Schema) -> None:
        named = {name: {"definition": schema.get("title", ""), **schema} for name, schema in document["$defs"].items()}
        self.document = {**document, "$defs": named}

    def resolve(self, schema: Schema, value: Any = MISSING) -> Resolved:
        """Return the schema of a value with its references resolved."""
        flat = self._deref(schema)
        options = flat.get("oneOf")
        if options is None:
            return Resolved(self._with_conditions(flat, value))
        single = next((option for option in options if self._deref(option).get("type") != "array"), None)
        if len(options) == 2 and single is not None and any(self._deref(o).get("type") == "array" for o in options):
            return Resolved({**self.resolve(single, value).schema, **_words(flat)}, or_many=True)
        text = next((option for option in options if self._deref(option).get("type") == "string"), None)
        if text is not None:
            return Resolved({**self._deref(text), **_words(flat), "type": ["string", "object"]})
        return self._union(flat, options, value)

    def _union(self, flat: Schema, options: list[Schema], value: Any) -> Resolved:
        kinds = [self._deref(option) for option in options]
        tag = _tag_of(kinds)
        by_name = {schema["properties"][tag]["const"]: schema for schema in kinds}
        name = value.get(tag) if isinstance(value, dict) else None
        chosen = by_name.get(name) if isinstance(name, str) else None
        found = self._with_conditions(chosen, value) if chosen else {"type": "object", "properties": {}}
        return Resolved({**found, **_words(flat)}, tag, by_name)

    def at(self, schema: Schema, value: Any, steps: Iterable[str | int]) -> tuple[Schema, Any]:
        """Return the schema at a position below another one, and the value there. Raises KeyError if the position
        cannot exist."""
        for step in steps:
            schema = self._step(schema, value, step)
            value = _member(value, step)
        return schema, value

    def _step(self, schema: Schema, value: Any, step: str | int) -> Schema:
        resolved = self.resolve(schema, value if not isinstance(value, list) else MISSING)
        if resolved.or_many and isinstance(value, list):
            return self.item_of(schema)
        found = resolved.schema
        if isinstance(value, list) or found.get("type") == "array":
            here = found["items"]
        else:
            here = found.get("properties", {}).get(step, found.get("additionalProperties"))
        if not isinstance(here, dict):
            raise KeyError(step)
        return here

    def item_of(self, schema: Schema) -> Schema:
        """Return the schema of the items of a list, or of one of `X or list of X`."""
        flat = self._deref(schema)
        single = (option for option in flat.get("oneOf", ()) if self._deref(option).get("type") != "array")
        items: Schema = next(single) if "oneOf" in flat else flat["items"]
        return items

    def skeleton(self, schema: Schema, tag: str = "") -> Any:
        """Return the smallest value of a schema: required members with their initial values; for a union those of
        `tag`."""
        resolved = self.resolve(schema)
        if resolved.alternatives:
            name = tag or next(iter(resolved.alternatives))
            return self.skeleton(resolved.alternatives[name])
        found = resolved.schema
        if "const" in found:
            return found["const"]
        if "default" in found:
            return found["default"]
        if "enum" in found:
            return found["enum"][0]
        if found.get("type") == "object":
            properties = found.get("properties", {})
            return {name: self.skeleton(properties[name]) for name in found.get("required", ()) if name in properties}
        return found.get("minimum", _EMPTY.get(str(found.get("type")), ""))

    def _deref(self, schema: Schema) -> Schema:
        while "$ref" in schema:
            name = schema["$ref"].rpartition("/")[2]
            schema = {**self.document["$defs"][name], **{k: v for k, v in schema.items() if k != "$ref"}}
        return schema

    def _with_conditions(self, schema: Schema, value: Any) -> Schema:
        """Add the properties that an `if` over constants defines for this value."""
        conditions = schema.get("allOf", ())
        added = {
            name: part for c in conditions if _holds(c["if"], value) for name, part in c["then"]["properties"].items()
        }
        return {**schema, "properties": {**schema["properties"], **added}} if added else schema


_EMPTY: dict[str, Any] = {"string": "", "array": [], "boolean": False, "integer": 0, "number": 0}


def _words(schema: Schema) -> Schema:
    """Return the texts of a use of a schema, which take precedence over those of the schema itself."""
    names = ("title", "description", "default", "examples", "group", "advanced")
    return {name: schema[name] for name in names if name in schema}


def _tag_of(schemas: list[Schema]) -> str:
    """Return the property that has a different constant in every alternative."""
    constants = [{n for n, p in schema.get("properties", {}).items() if "const" in p} for schema in schemas]
    shared: set[str] = set.intersection(*constants)
    return next(n for n in shared if len({schema["properties"][n]["const"] for schema in schemas}) == len(schemas))


def _holds(condition: Schema, value: Any) -> bool:
    if not isinstance(value, dict):
        return False
    return all(value.get(name) == part.get("const") for name, part in condition["properties"].items())


def _member(value: Any, step: str | int) -> Any:
    if isinstance(value, dict):
        return value.get(str(step), MISSING)
    if isinstance(value, list) and isinstance(step, int) and step < len(value):
        return value[step]
    return MISSING


def properties_of(schema: Schema) -> Iterator[tuple[str, Schema, bool]]:
    """Yield the name and schema of each property, and whether it is required."""
    required = schema.get("required", ())
    for name, part in schema.get("properties", {}).items():
        yield name, part, name in required
