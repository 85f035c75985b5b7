"""The schemas of Avro files: the column of each field, and how its values become Arrow values or JSON texts."""

from __future__ import annotations

import json
import math
from base64 import b64encode
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow as pa
from fastavro import parse_schema
from fastavro.schema import SchemaParseException, UnknownType

from executors.errors import InvalidContent
from executors.formats.arrow_types import column_type
from executors.formats.avro_blocks import MOST_BLOCK_BYTES, malformed
from executors.formats.avro_values import LOGICAL, Logical
from executors.formats.limits import refuse_too_many_columns
from executors.model import SourceField
from ir.types import ColumnType

Schema = Any
ToJson = Callable[[Any], Any]

_PLAIN: dict[str, pa.DataType] = {
    "null": pa.null(),
    "boolean": pa.bool_(),
    "int": pa.int32(),
    "long": pa.int64(),
    "float": pa.float32(),
    "double": pa.float64(),
    "bytes": pa.binary(),
    "string": pa.string(),
    "enum": pa.string(),
}
_PYTHON = {"null": "NoneType", "int": "int", "long": "int", "boolean": "bool", "float": "float", "double": "float"}
_PYTHON |= {"string": "str", "enum": "str", "bytes": "bytes", "fixed": "bytes", "array": "list"}
_PYTHON |= {"map": "dict", "record": "dict"}
_NUMBER_BYTES, _TEXT_BYTES, _ENTRY_BYTES = 32, 64, 100
_UNREADABLE = SchemaParseException, UnknownType, ValueError, TypeError, KeyError, RecursionError, AttributeError
_MOST_OBJECTS = 1 << 30
"""About the memory that the Python objects of one block may take."""


@dataclass(frozen=True, slots=True)
class AvroColumn:
    """A field of the records. Values become `arrow` values by `logical` if it is set, JSON texts by `to_json` if that
    is set, else they stay as they are."""

    field: SourceField
    arrow: pa.DataType
    logical: Logical | None = None
    to_json: ToJson | None = None


class AvroSchema:
    """The schema of one file. Raises InvalidContent for a schema that has no columns or no bounded values."""

    def __init__(self, schema: Schema, name: str) -> None:
        self._names: dict[str, Schema] = {}
        self._name = name
        try:
            parsed = parse_schema(schema, self._names)
        except (
            SchemaParseException,
            UnknownType,
            ValueError,
            TypeError,
            KeyError,
            RecursionError,
            AttributeError,
        ) as error:
            raise malformed(name, "its schema cannot be read") from error
        self._open: list[str] = []
        self._known: dict[str, tuple[float, int, int]] = {}
        if not isinstance(parsed, dict) or parsed.get("type") not in ("record", "error"):
            raise self._unsupported("The file", "records without named fields")
        refuse_too_many_columns(name, len(parsed["fields"]))
        self.growth, _, _ = self._measure(parsed)
        self.columns = tuple(self._column(field) for field in parsed["fields"])

    @property
    def most_block_bytes(self) -> int:
        """The maximum size of a decompressed block, with regard to what the elements of its lists take in memory."""
        return int(min(MOST_BLOCK_BYTES, _MOST_OBJECTS / max(1.0, self.growth)))

    # --- columns ---------------------------------------------------------------------------------------------------

    def _column(self, field: Mapping[str, Any]) -> AvroColumn:
        name = field["name"]
        branches = [branch for branch in self._branches(field["type"]) if _type_of(branch) != "null"]
        if not branches:
            return AvroColumn(SourceField(name, ColumnType("string"), only_null=True), pa.null())
        schema = branches[0]
        if len(branches) > 1 or _type_of(schema) in ("record", "array", "map"):
            to_json = self._to_json(field["type"], name)
            return AvroColumn(SourceField(name, ColumnType("json")), pa.string(), to_json=to_json)
        logical = self._logical(schema, name)
        arrow = logical.arrow if logical else self._plain(schema)
        return AvroColumn(SourceField(name, column_type(arrow, name, self._name)), arrow, logical)

    def _plain(self, schema: Schema) -> pa.DataType:
        return pa.binary(schema["size"]) if _type_of(schema) == "fixed" else _PLAIN[_type_of(schema)]

    def _logical(self, schema: Schema, column: str) -> Logical | None:
        kind = schema.get("logicalType") if isinstance(schema, dict) else None
        if kind == "duration":
            raise self._unsupported(f"Column {column!r}", "durations")
        return LOGICAL[kind](schema) if kind in LOGICAL else None

    def _branches(self, schema: Schema) -> list[Schema]:
        schema = self._resolved(schema)
        return [self._resolved(branch) for branch in schema] if isinstance(schema, list) else [schema]

    def _resolved(self, schema: Schema) -> Schema:
        """Return a schema without indirections: the definition of a name, and the content of a type in a type."""
        while True:
            if isinstance(schema, str) and schema in self._names:
                schema = self._names[schema]
            elif isinstance(schema, dict) and isinstance(schema["type"], dict | list):
                schema = schema["type"]
            else:
                return schema

    # --- JSON ------------------------------------------------------------------------------------------------------

    def _to_json(self, schema: Schema, column: str) -> ToJson:
        """Return the function from a value, as fastavro returns it, to what `json.dumps` writes."""
        schema = self._resolved(schema)
        if isinstance(schema, list):
            return self._union_to_json(schema, column)
        kind = _type_of(schema)
        if kind in ("record", "error"):
            members = {field["name"]: self._to_json(field["type"], column) for field in schema["fields"]}
            return lambda value: {name: to_json(value[name]) for name, to_json in members.items()}
        if kind == "array":
            item = self._to_json(schema["items"], column)
            return lambda value: [item(one) for one in value]
        if kind == "map":
            item = self._to_json(schema["values"], column)
            return lambda value: {key: item(one) for key, one in value.items()}
        if logical := self._logical(schema, column):
            return logical.to_json
        to_json: ToJson = _TO_JSON.get(kind, _same)
        return to_json

    def _union_to_json(self, schema: Sequence[Schema], column: str) -> ToJson:
        """Values of named types come with their name if there are several; others are distinguished by their type."""
        branches = [self._resolved(branch) for branch in schema]
        functions = [self._to_json(branch, column) for branch in branches]
        named: dict[str, ToJson] = {}
        typed: dict[str, ToJson] = {}
        have_names = sum(_type_of(branch) in ("record", "error", "enum", "fixed") for branch in branches) > 1
        for branch, function in zip(branches, functions, strict=True):
            if have_names and isinstance(branch, dict) and "name" in branch:
                named[branch["name"]] = function
                continue
            python = _PYTHON["record" if _type_of(branch) == "error" else _type_of(branch)]
            if typed.setdefault(python, function) is not function:
                raise self._unsupported(f"Column {column!r}", "a union of types that cannot be distinguished")

        def convert(value: Any) -> Any:
            if isinstance(value, tuple):
                return named[value[0]](value[1])
            return typed[type(value).__name__](value)

        return convert

    # --- limits ----------------------------------------------------------------------------------------------------

    def _measure(self, schema: Schema) -> tuple[float, int, int]:
        """Return how much more memory the elements of lists take than bytes in the file, at most; then the least number
        of bytes and the memory of a value. Raises InvalidContent for a schema that contains itself."""
        schema = self._resolved(schema)
        if isinstance(schema, list):
            parts = [self._measure(branch) for branch in schema] or [(0.0, 0, 0)]
            return max(p[0] for p in parts), 1 + min(p[1] for p in parts), max(p[2] for p in parts)
        kind = _type_of(schema)
        if kind in ("record", "error"):
            return self._measure_record(schema)
        if kind == "array":
            growth, least, size = self._measure(schema["items"])
            if not least:
                raise self._unsupported("The file", "lists whose elements take no bytes")
            return max(growth, (size + 8) / least), 1, _TEXT_BYTES
        if kind == "map":
            growth, least, size = self._measure(schema["values"])
            return max(growth, (size + _ENTRY_BYTES + _TEXT_BYTES) / (least + 1)), 1, _TEXT_BYTES
        if kind == "fixed":
            return 0.0, schema["size"], schema["size"] + _TEXT_BYTES
        if kind not in _PLAIN:
            raise malformed(self._name, f"its schema has an unknown type {kind!r}")
        least = {"null": 0, "float": 4, "double": 8}.get(kind, 1)
        return 0.0, least, _TEXT_BYTES if kind in ("bytes", "string") else _NUMBER_BYTES

    def _measure_record(self, schema: Mapping[str, Any]) -> tuple[float, int, int]:
        name = schema["name"]
        if name in self._open:
            raise self._unsupported("The file", f"a type that contains itself, {name!r}")
        if (known := self._known.get(name)) is None:
            self._open.append(name)
            parts = [self._measure(field["type"]) for field in schema["fields"]]
            self._open.pop()
            size = _TEXT_BYTES + sum(part[2] + _ENTRY_BYTES for part in parts)
            known = max((part[0] for part in parts), default=0.0), sum(part[1] for part in parts), size
            self._known[name] = known
        return known

    def _unsupported(self, what: str, kind: str) -> InvalidContent:
        return InvalidContent(
            "source.type_unsupported",
            f"{what} holds {kind}, which Flow cannot read from Avro ({self._name}).",
            hint="Write the values as text or numbers, or leave them out of the file.",
        )


def plain_schema(schema: Schema) -> Schema:
    """Return a schema without logical types, so that values are read as they are stored and converted exactly."""
    if isinstance(schema, list):
        return [plain_schema(branch) for branch in schema]
    if not isinstance(schema, dict):
        return schema
    return {
        key: [{**field, "type": plain_schema(field["type"])} for field in value]
        if key == "fields"
        else plain_schema(value)
        if key in ("type", "items", "values")
        else value
        for key, value in schema.items()
        if key not in ("logicalType", "precision", "scale", "default")
    }


def json_text(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, allow_nan=False)


def _type_of(schema: Schema) -> str:
    return str(schema["type"] if isinstance(schema, dict) else schema)


def _same(value: Any) -> Any:
    return value


def _float_to_json(value: float) -> Any:
    return value if math.isfinite(value) else str(value)


def _bytes_to_json(value: bytes) -> str:
    return b64encode(value).decode()


_TO_JSON: dict[str, ToJson] = {
    "float": _float_to_json,
    "double": _float_to_json,
    "bytes": _bytes_to_json,
    "fixed": _bytes_to_json,
}
