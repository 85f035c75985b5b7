"""Maps the types of typed files to Flow's column types, and converts their values. No value is truncated or rounded
silently."""

from __future__ import annotations

import json
import math
from base64 import b64encode
from collections.abc import Callable
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from executors.errors import InvalidContent
from executors.grammar import canonical_text, convert_column
from executors.types import wire_type
from ir.types import STRING, ColumnType

Converted = tuple[pa.Array, pa.BooleanArray]
"""Values in the wire type, and a mask of the values that it cannot represent."""

_INTEGER, _BIGINT = ColumnType("integer"), ColumnType("bigint")
_BINARY, _JSON = ColumnType("binary"), ColumnType("json")


def column_type(kind: pa.DataType, column: str, file: str) -> ColumnType:
    """Return the column type of an Arrow type. Raises Terminal `source.type_unsupported`."""
    if isinstance(kind, pa.ExtensionType | pa.BaseExtensionType):
        known = _EXTENSIONS.get(kind.extension_name)
        return known or column_type(kind.storage_type, column, file)
    if pa.types.is_dictionary(kind):
        return column_type(kind.value_type, column, file)
    for is_kind, to in _TYPES:
        if is_kind(kind):
            return to(kind)
    raise InvalidContent(
        "source.type_unsupported",
        f"Column {column!r} of {file} has the type {kind}, which Flow has no column type for.",
        hint="Write the column as text or as a number, or remove it from the file.",
    )


def _decimal(kind: pa.DataType) -> ColumnType:
    return ColumnType("decimal", kind.precision - min(kind.scale, 0), max(kind.scale, 0))


def _timestamp(kind: pa.DataType) -> ColumnType:
    return ColumnType("timestamp" if kind.tz is None else "timestamptz")


def _is_text(kind: pa.DataType) -> bool:
    return bool(pa.types.is_string(kind) or pa.types.is_large_string(kind) or pa.types.is_string_view(kind))


def _is_bytes(kind: pa.DataType) -> bool:
    tests = pa.types.is_binary, pa.types.is_large_binary, pa.types.is_binary_view, pa.types.is_fixed_size_binary
    return any(test(kind) for test in tests)


_EXTENSIONS = {"arrow.uuid": ColumnType("uuid"), "arrow.json": _JSON}

_TYPES: tuple[tuple[Callable[[pa.DataType], bool], Callable[[pa.DataType], ColumnType]], ...] = (
    (_is_text, lambda kind: STRING),
    (pa.types.is_null, lambda kind: STRING),
    (pa.types.is_boolean, lambda kind: ColumnType("boolean")),
    (pa.types.is_uint64, lambda kind: ColumnType("decimal", 20, 0)),
    (lambda kind: kind in (pa.int64(), pa.uint32()), lambda kind: _BIGINT),
    (pa.types.is_integer, lambda kind: _INTEGER),
    (pa.types.is_floating, lambda kind: ColumnType("float")),
    (pa.types.is_decimal, _decimal),
    (pa.types.is_date, lambda kind: ColumnType("date")),
    (pa.types.is_timestamp, _timestamp),
    (pa.types.is_time, lambda kind: ColumnType("time")),
    (_is_bytes, lambda kind: _BINARY),
    (pa.types.is_nested, lambda kind: _JSON),
)


def convert_native(values: pa.Array, to: ColumnType) -> Converted:
    """Convert an array of a file's own type to the wire type of the column type that `column_type` returned for it."""
    kind = values.type
    if isinstance(kind, pa.BaseExtensionType):
        if kind.extension_name == "arrow.uuid":
            return convert_column(pa.array([v and str(v) for v in values.to_pylist()], pa.string()), to)
        return convert_native(values.storage, to)
    if pa.types.is_dictionary(kind):
        return convert_native(values.dictionary_decode(), to)
    if pa.types.is_nested(kind):
        return _convert_nested(values)
    if _is_bytes(kind):
        return convert_column(pc.cast(values, pa.binary()), to)
    if _is_text(kind):
        return convert_column(pc.cast(values, pa.string()), to)
    if pa.types.is_uint64(kind):
        return convert_column(canonical_text(values), to)
    return convert_column(pc.cast(values, pa.float64()) if pa.types.is_float16(kind) else values, to)


def convert_native_to_text(values: pa.Array, declared: ColumnType) -> Converted:
    """Convert an array of a file's own type to text that parses to the same value of the declared type. A value that
    this type cannot represent gets its own text, which then fails to parse."""
    own = column_type(values.type, "", "")
    plain, failed = convert_native(values, own)
    if own.kind in ("string", "json") or wire_type(declared).as_text:
        return canonical_text(plain), failed
    typed, lost = convert_column(plain, declared)
    return pc.if_else(lost, canonical_text(plain), canonical_text(typed)), failed


def _convert_nested(values: pa.Array) -> Converted:
    texts = pa.array([_nested_text(value) for value in values], pa.string())
    return texts, pc.and_(pc.is_valid(values), pc.is_null(texts))


def _nested_text(value: pa.Scalar) -> str | None:
    """Return None also for a value without a JSON form: a timestamp in the year 10000, or a map with a repeated key."""
    try:
        return nested_json(value.as_py(maps_as_pydicts="strict"))
    except (ValueError, OverflowError, KeyError):
        return None


def shown_value(values: pa.Array) -> str:
    """Return the text of an array with one value, of any type."""
    if pa.types.is_nested(values.type):
        return _nested_text(values[0]) or "NULL"
    if isinstance(values.type, pa.BaseExtensionType):
        return shown_value(values.storage)
    return canonical_text(values)[0].as_py() or "NULL"


def nested_json(value: Any) -> str | None:
    """Return the JSON text of a nested value. Decimals become text with all their digits, times ISO 8601, bytes
    base64."""
    return None if value is None else json.dumps(_plain(value), ensure_ascii=False, allow_nan=False)


def _plain(value: Any) -> Any:
    if isinstance(value, dict):
        return {str(_plain(key)): _plain(member) for key, member in value.items()}
    if isinstance(value, list):
        return [_plain(member) for member in value]
    if isinstance(value, float) and not math.isfinite(value):
        return str(value)
    if isinstance(value, datetime | date | time):
        return value.isoformat()
    if isinstance(value, bytes):
        return b64encode(value).decode()
    return str(value) if isinstance(value, Decimal | timedelta) else value
