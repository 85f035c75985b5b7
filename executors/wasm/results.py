"""Reads what a module returns. Its bytes are not trusted: every check is made before Arrow reads values."""

from __future__ import annotations

import struct
from collections.abc import Iterator

import pyarrow as pa

from executors.wasm.failures import GuestFailed
from ir.ops import ERROR_COLUMN

_ERROR = pa.field(ERROR_COLUMN, pa.string())
_COMPRESSION = 3
"""The number of the field of a record batch's metadata that is set if its buffers are compressed."""


def read_schema(content: bytes) -> pa.Schema:
    """Return the schema of a stream of Arrow IPC. Raises GuestFailed."""
    try:
        with pa.ipc.open_stream(pa.py_buffer(content)) as stream:
            return stream.schema
    except (pa.ArrowException, OSError, ValueError) as error:
        raise GuestFailed(f"it returns a schema that is no Arrow IPC stream ({_short(error)})") from None


def read_rows(content: bytes, expected: pa.Schema, rows: int) -> pa.RecordBatch:
    """Return the rows of a stream of Arrow IPC, with the columns of `expected` and `_error`. Raises GuestFailed unless
    there are so many `rows` of these types."""
    buffer = pa.py_buffer(content)
    try:
        _refuse_compressed(buffer)
        with pa.ipc.open_stream(buffer) as stream:
            _require_types(stream.schema, expected)
            batches = [batch for batch in stream if batch.num_rows]
        for batch in batches:
            batch.validate(full=True)
    except (pa.ArrowException, OSError, ValueError, struct.error, IndexError) as error:
        raise GuestFailed(f"it returns rows that are no valid Arrow IPC stream ({_short(error)})") from None
    found = sum(batch.num_rows for batch in batches)
    if found != rows:
        raise GuestFailed(f"it returns {found:,} rows for {rows:,}")
    whole = pa.concat_batches(batches)
    errors = whole.column(ERROR_COLUMN) if ERROR_COLUMN in whole.schema.names else pa.nulls(rows, pa.string())
    arrays = [whole.column(field.name) for field in expected]
    return pa.RecordBatch.from_arrays([*arrays, errors], schema=pa.schema([*expected, _ERROR]))


def why_other_schema(found: pa.Schema, expected: pa.Schema) -> str | None:
    """Return how a schema differs from the declared columns; None if it does not. `_error` is allowed."""
    names = [name for name in found.names if name != ERROR_COLUMN]
    if names != expected.names:
        return f"it returns the columns {', '.join(names) or 'none'}, not {', '.join(expected.names)}"
    for field in expected:
        if found.field(field.name).type != field.type:
            return f"it returns {field.name} as {found.field(field.name).type}, not as {field.type}"
    if ERROR_COLUMN in found.names and found.field(ERROR_COLUMN).type != pa.string():
        return f"it returns {ERROR_COLUMN} as {found.field(ERROR_COLUMN).type}, not as string"
    return None


def _require_types(found: pa.Schema, expected: pa.Schema) -> None:
    if len(set(found.names)) != len(found.names):
        raise GuestFailed("it returns a column twice")
    if why := why_other_schema(found, expected):
        raise GuestFailed(why)


def _refuse_compressed(buffer: pa.Buffer) -> None:
    """Refuse buffers whose size is only known when they are decompressed, and dictionaries."""
    for message in _messages(buffer):
        if message.type not in ("schema", "record batch"):
            raise GuestFailed(f"it returns a {message.type}, which is not supported")
        if message.type == "record batch" and _is_compressed(message.metadata.to_pybytes()):
            raise GuestFailed("it returns compressed buffers, which are not supported")


def _messages(buffer: pa.Buffer) -> Iterator[pa.Message]:
    reader = pa.MessageReader.open_stream(buffer)
    while True:
        try:
            yield reader.read_next_message()
        except StopIteration:
            return


def _is_compressed(metadata: bytes) -> bool:
    """Return whether the table RecordBatch in a Flatbuffer of Message has the field `compression`."""
    header = _field(metadata, struct.unpack_from("<I", metadata)[0], 2)
    if not header:
        return False
    return bool(_field(metadata, header + struct.unpack_from("<I", metadata, header)[0], _COMPRESSION))


def _field(metadata: bytes, table: int, number: int) -> int:
    """Return the position of a field of a Flatbuffer's table, or 0 if it is absent."""
    fields = table - struct.unpack_from("<i", metadata, table)[0]
    if 4 + 2 * number >= struct.unpack_from("<H", metadata, fields)[0]:
        return 0
    offset: int = struct.unpack_from("<H", metadata, fields + 4 + 2 * number)[0]
    return table + offset if offset else 0


def _short(error: Exception) -> str:
    return " ".join(str(error).split())[:200]
