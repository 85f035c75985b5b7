"""The types of Delta tables and the column types of Flow."""

from __future__ import annotations

import pyarrow as pa
from deltalake import DataType
from deltalake.schema import PrimitiveType

from ir.types import STRING, ColumnType

_COLUMN_TYPES = {
    "string": "string",
    "integer": "integer",
    "long": "bigint",
    "double": "float",
    "boolean": "boolean",
    "date": "date",
    "timestamp": "timestamptz",
    "timestamp_ntz": "timestamp",
    "binary": "binary",
}

_ARROW = {
    "string": pa.string(),
    "integer": pa.int32(),
    "bigint": pa.int64(),
    "float": pa.float64(),
    "boolean": pa.bool_(),
    "date": pa.date32(),
    "timestamp": pa.timestamp("us"),
    "timestamptz": pa.timestamp("us", "UTC"),
    "binary": pa.binary(),
}

MAX_PRECISION = 38


def column_type(kind: DataType) -> ColumnType | None:
    """Return the column type of a column of a table; None if Flow loads no values of its type."""
    if not isinstance(kind, PrimitiveType):
        return None
    if kind.type.startswith("decimal("):
        return ColumnType.parse(kind.type.replace(" ", ""))
    name = _COLUMN_TYPES.get(kind.type)
    return ColumnType(name) if name else None


def arrow_type(kind: ColumnType) -> pa.DataType:
    """Return the type of the values in files. Raises KeyError for a type that no Delta table has."""
    if kind.kind == "decimal":
        if kind.precision > MAX_PRECISION:
            raise KeyError(str(kind))
        return pa.decimal128(kind.precision, kind.scale)
    return _ARROW[kind.kind]


def has_type(kind: ColumnType) -> bool:
    """Return whether Delta tables have this type."""
    return kind.kind in _ARROW or (kind.kind == "decimal" and kind.precision <= MAX_PRECISION)


def type_to_create(kind: ColumnType) -> ColumnType:
    """Return the type of a new column for values of this type: text if Delta has no such type, which is exact."""
    return kind if has_type(kind) else STRING
