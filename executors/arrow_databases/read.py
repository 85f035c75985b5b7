"""Reads rows of a database through its Arrow driver. Runs inside Spark's tasks."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import pyarrow as pa
import pyarrow.compute as pc

from executors.arrow_databases import load_dialect
from executors.arrow_databases.base import Column
from executors.arrow_databases.client import connect
from executors.errors import Terminal, Transient, of_node
from executors.formats.batches import HIDDEN, BadRecords, Batches, batch_of_rows, trailer
from executors.formats.closing import closed_after
from executors.model import SourceField
from executors.reading import QueryPart
from executors.secrets import decrypt_store

_ARROW = {"integer": pa.int32(), "bigint": pa.int64(), "float": pa.float64(), "boolean": pa.bool_()}
_TEXTS = (pa.types.is_string, pa.types.is_large_string, pa.types.is_string_view)
_NUMBERS = (pa.types.is_integer, pa.types.is_decimal)
_ACCEPTED = {
    "binary": (pa.types.is_binary, pa.types.is_large_binary, pa.types.is_fixed_size_binary, pa.types.is_binary_view),
    "integer": _NUMBERS,
    "bigint": _NUMBERS,
    "float": (pa.types.is_floating,),
    "boolean": (pa.types.is_boolean,),
}
"""By how a column is read: the types of the driver whose values can be converted without loss, or are refused."""
_OF_TIME = frozenset({"time", "timestamp", "timestamptz"})
_MOST_ROWS = 8192
_LONGEST_SHOWN = 10_000


@dataclass(frozen=True, slots=True)
class ArrowDatabaseReader:
    """Reads the rows of one statement, which end with a trailer that holds their number. `dialect` is the module with
    the facts of the database."""

    dialect: str
    encrypted_connection: str
    columns: tuple[Column, ...]
    seconds: float
    node: str

    def read(self, part: QueryPart, fields: Sequence[SourceField]) -> Batches:
        schema, count = schema_of(fields), 0
        dialect, connection = load_dialect(self.dialect), decrypt_store(self.encrypted_connection)
        with (
            of_node(self.node),
            connect(dialect, connection, self.seconds) as session,
            closed_after(session.batches(part.statement)) as batches,
        ):
            for rows in _in_parts(batches):
                yield _batch(rows, count + 1, self.columns, schema)
                count += rows.num_rows
        yield trailer(schema, count)


def schema_of(fields: Sequence[SourceField]) -> pa.Schema:
    """Return the schema: the hidden columns, then each field in the type in which it is read."""
    return pa.schema([*HIDDEN, *(pa.field(field.name, _type_of(field)) for field in fields)])


def _type_of(field: SourceField) -> pa.DataType:
    return pa.string() if field.as_text else _ARROW.get(field.type.kind, pa.string())


def _in_parts(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Yield the rows of batches, whose size the driver chooses, in batches of bounded size."""
    for batch in batches:
        for start in range(0, batch.num_rows, _MOST_ROWS):
            yield batch.slice(start, _MOST_ROWS)


def _batch(rows: pa.RecordBatch, first: int, columns: Sequence[Column], schema: pa.Schema) -> pa.RecordBatch:
    if rows.num_columns != len(columns):
        raise Transient(
            "source.changed",
            f"The database returned {rows.num_columns} columns instead of {len(columns)}.",
            hint="The table was changed while the run started. Run it again.",
        )
    try:
        return batch_of_rows(first, _arrays(rows, columns), BadRecords(), schema)
    except pa.ArrowInvalid:
        return _with_bad_rows(rows, first, columns, schema)


def _arrays(rows: pa.RecordBatch, columns: Sequence[Column]) -> list[pa.Array]:
    return [array_of(values, column) for values, column in zip(rows.columns, columns, strict=True)]


def array_of(values: pa.Array, column: Column) -> pa.Array:
    """Return the values of a column in the type in which it is read. Raises ArrowInvalid for a value that this type
    does not have: none is rounded, cut or replaced by NULL."""
    if isinstance(values, pa.ExtensionArray):
        values = values.storage
    _require_kind(values.type, column.field)
    if column.field.type.kind == "binary":
        plain = values.cast(pa.binary()).to_pylist()
        return pa.array((None if value is None else "\\x" + value.hex().upper() for value in plain), pa.string())
    found = values.cast(_type_of(column.field))
    if column.field.type.kind in _OF_TIME:
        # Databases write seven or nine digits of a second. Digits that are not zero stay, and are reported.
        return pc.replace_substring_regex(found, r"(\.[0-9]{6})0+", r"\1")
    return found


def _require_kind(kind: pa.DataType, field: SourceField) -> None:
    """Raise Terminal for values in a type that was not asked for: a conversion could change them, such as a decimal
    that the driver has made a float."""
    wanted = "binary" if field.type.kind == "binary" else "text" if field.as_text else field.type.kind
    if not any(is_kind(kind) for is_kind in (pa.types.is_null, *_ACCEPTED.get(wanted, _TEXTS))):
        raise Terminal(
            "source.type_unsupported",
            f"The driver returns column {field.name!r} as {kind} instead of {wanted}.",
            hint="Read it as text by a query, or install the version of the driver that Flow asks for.",
        )


def _with_bad_rows(rows: pa.RecordBatch, first: int, columns: Sequence[Column], schema: pa.Schema) -> pa.RecordBatch:
    """Return the rows, where those with a value that cannot be read are NULL and marked as bad."""
    bad, taken = BadRecords(), []
    for index in range(rows.num_rows):
        row = rows.slice(index, 1)
        try:
            taken.append(_arrays(row, columns))
        except pa.ArrowInvalid:
            bad.add(index, _why_unreadable(row, columns), _shown(row))
            taken.append([pa.nulls(1, _type_of(column.field)) for column in columns])
    return batch_of_rows(first, [pa.concat_arrays(values) for values in zip(*taken, strict=True)], bad, schema)


def _why_unreadable(row: pa.RecordBatch, columns: Sequence[Column]) -> str:
    for values, column in zip(row.columns, columns, strict=True):
        try:
            array_of(values, column)
        except pa.ArrowInvalid:
            return f"Column {column.field.name!r} holds a value that its type {column.field.type} does not have."
    return ""


def _shown(row: pa.RecordBatch) -> str:
    return ",".join("" if value is None else str(value) for value in row.to_pylist()[0].values())[:_LONGEST_SHOWN]
