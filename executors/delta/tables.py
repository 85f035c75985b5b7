"""Delta tables as targets: what they have, and their creation."""

from __future__ import annotations

from collections.abc import Sequence

import pyarrow as pa
from deltalake import DeltaTable

from executors.delta.types import arrow_type, column_type, has_type, type_to_create
from executors.errors import Terminal, Transient
from executors.model import Destination, DestinationColumn, SourceField
from executors.stage_plan import FILLED, SOURCE_RECORD
from ir.load_modes import load_mode
from ir.nodes import Target
from ir.types import STRING, ColumnType

_WRITER_FEATURES = frozenset({"appendOnly", "invariants", "timestampNtz"})
_READER_FEATURES = frozenset({"timestampNtz"})
_OLD_READER, _OLD_WRITER = 1, 2
_FEATURES_READER, _FEATURES_WRITER = 3, 7
"""From these versions of the protocol on, a table lists the features that it uses."""


def describe(table: DeltaTable, target: Target) -> Destination:
    """Return the table as a destination. Raises Terminal `target.delta_unsupported` for one that cannot be loaded."""
    _require_supported(table, target)
    columns = tuple(_columns_of(table))
    key = frozenset(target.upsert_key or ())
    # A Delta table has no keys: an upsert makes the key unique by reading the table.
    return Destination(target.schema_, target.table, columns, unique_keys=(key,) if key else ())


def _columns_of(table: DeltaTable) -> Sequence[DestinationColumn]:
    found: list[DestinationColumn] = []
    for field in table.schema().fields:
        kind = column_type(field.type)
        declared = getattr(field.type, "type", str(field.type))
        # A type without a counterpart is a column that no load can fill.
        found.append(
            DestinationColumn(field.name, kind or STRING, declared, bool(field.nullable), generated=kind is None)
        )
    return found


def _require_supported(table: DeltaTable, target: Target) -> None:
    if reasons := _unsupported(table, target):
        raise Terminal(
            "target.delta_unsupported",
            f"{target.schema_}.{target.table} has {', '.join(reasons)}, which Flow does not support.",
            node=target.id,
            hint="Load a table without it. Flow creates one if the target's table does not exist.",
        )


def why_unreadable(table: DeltaTable) -> list[str]:
    """Return what the table has that makes the rows of its files others than those of the table."""
    protocol, partitions = table.protocol(), table.metadata().partition_columns
    reasons = [f"the feature {name}" for name in sorted({*(protocol.reader_features or ())} - _READER_FEATURES)]
    if protocol.min_reader_version not in (_OLD_READER, _FEATURES_READER):
        reasons.append(f"version {protocol.min_reader_version} of the protocol for readers")
    if partitions:
        reasons.append(f"partitions ({', '.join(partitions)})")
    return reasons


def _unsupported(table: DeltaTable, target: Target) -> list[str]:
    protocol, metadata, reasons = table.protocol(), table.metadata(), why_unreadable(table)
    written = {*(protocol.writer_features or ())} - {*(protocol.reader_features or ())}
    reasons += [f"the feature {name}" for name in sorted(written - _WRITER_FEATURES - _READER_FEATURES)]
    if protocol.min_writer_version > _OLD_WRITER and protocol.min_writer_version != _FEATURES_WRITER:
        reasons.append(f"version {protocol.min_writer_version} of the protocol for writers")
    if rules := [name for name in metadata.configuration if name.startswith("delta.constraints.")]:
        reasons.append(f"the constraint {rules[0].removeprefix('delta.constraints.')}")
    if metadata.configuration.get("delta.appendOnly") == "true" and target.load_mode != "append":
        reasons.append("the setting delta.appendOnly, so that no row can be replaced")
    return reasons


def schema_of(table: DeltaTable) -> pa.Schema:
    """Return the columns of a table, in the types of files."""
    return pa.schema(table.schema().to_arrow())


def require_schema(table: DeltaTable, schema: pa.Schema, node: str) -> None:
    """Raise Transient `target.columns_changed` if the columns of the table are not those for which rows were staged."""
    if schema_of(table) != schema:
        raise Transient(
            "target.columns_changed",
            "The columns of the table changed while the load ran.",
            node=node,
            hint="The next attempt uses the new columns.",
        )


def schema_to_create(target: Target, working: Sequence[SourceField]) -> pa.Schema:
    """Return the columns of a missing table: those that are declared, or else those of the rows, and those that loads
    fill. Raises Terminal `target.type_unsupported`."""
    fields = [
        pa.field(name, arrow_type(kind), nullable) for name, kind, nullable in _columns_to_create(target, working)
    ]
    given = {field.name for field in fields}
    filled = {name: pa.int64() if name == SOURCE_RECORD else pa.string() for name in FILLED}
    return pa.schema([*fields, *(pa.field(name, kind) for name, kind in filled.items() if name not in given)])


def describe_new(target: Target, schema: pa.Schema, working: Sequence[SourceField]) -> Destination:
    """Return a table that the load will create."""
    made = {name: kind for name, kind, _ in _columns_to_create(target, working)}
    columns = tuple(
        DestinationColumn(field.name, made.get(field.name, STRING), str(field.type), field.nullable) for field in schema
    )
    key = frozenset(target.upsert_key or ())
    return Destination(target.schema_, target.table, columns, unique_keys=(key,) if key else ())


def _columns_to_create(target: Target, working: Sequence[SourceField]) -> list[tuple[str, ColumnType, bool]]:
    key = frozenset((load_mode(target.load_mode).needs_key and target.upsert_key) or ())
    if target.columns is None:
        return [(field.name, type_to_create(field.type), field.name not in key) for field in working]
    declared = [(column.name, ColumnType.parse(column.type), column.nullable) for column in target.columns]
    for name, kind, _ in declared:
        if not has_type(kind):
            raise Terminal(
                "target.type_unsupported",
                f"Column {name!r}: Delta tables have no type {kind}.",
                node=target.id,
                hint="Declare the column as string: the values arrive as text, exactly.",
            )
    return [(name, kind, nullable and name not in key) for name, kind, nullable in declared]
