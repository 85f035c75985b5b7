"""The wire type of each column type: the Arrow type that the sink sends and the PostgreSQL type of the staging column.

Types that Arrow or the binary encoder lacks are sent as text and cast by PostgreSQL in the load statement.
"""

from __future__ import annotations

from dataclasses import dataclass

import pyarrow as pa

from ir.types import ColumnType


@dataclass(frozen=True, slots=True)
class WireType:
    """`arrow` is the type that is sent, `staged` the SQL type of the staging column. `as_text` means that the load must
    cast."""

    arrow: pa.DataType
    staged: str
    as_text: bool = False


_TEXT = WireType(pa.string(), "text", as_text=True)

_WIRE_TYPES: dict[str, WireType] = {
    "string": WireType(pa.string(), "text"),
    "integer": WireType(pa.int32(), "integer"),
    "bigint": WireType(pa.int64(), "bigint"),
    "float": WireType(pa.float64(), "double precision"),
    "boolean": WireType(pa.bool_(), "boolean"),
    "date": WireType(pa.date32(), "date"),
    "timestamp": WireType(pa.timestamp("us"), "timestamp"),
    # Binary timestamp and timestamptz are the same microseconds, so UTC values go into timestamptz unchanged.
    "timestamptz": WireType(pa.timestamp("us", "UTC"), "timestamptz"),
    "time": WireType(pa.time64("us"), "time"),
    "binary": WireType(pa.binary(), "bytea"),
    "json": _TEXT,
    "uuid": _TEXT,
    "pg": _TEXT,
}

_POSTGRES: dict[str, str] = {
    "string": "text",
    "integer": "integer",
    "bigint": "bigint",
    "float": "double precision",
    "boolean": "boolean",
    "date": "date",
    "timestamp": "timestamp",
    "timestamptz": "timestamptz",
    "time": "time",
    "binary": "bytea",
    "json": "jsonb",
    "uuid": "uuid",
}


def wire_type(kind: ColumnType) -> WireType:
    """Return how values of this type are sent to staging."""
    if kind.kind == "decimal":
        if kind.precision <= 38:
            return WireType(pa.decimal128(kind.precision, kind.scale), f"numeric({kind.precision},{kind.scale})")
        return _TEXT
    return _WIRE_TYPES[kind.kind]


def postgres_type(kind: ColumnType) -> str:
    """Return the SQL type of a column that Flow creates. `pg:` names are returned unchanged: the caller must let
    PostgreSQL resolve them (`to_regtype`) before they reach any statement."""
    if kind.kind == "decimal":
        return f"numeric({kind.precision},{kind.scale})"
    return kind.pg_name if kind.kind == "pg" else _POSTGRES[kind.kind]
