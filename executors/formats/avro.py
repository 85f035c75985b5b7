"""Reads Avro: a split is a range of blocks, values keep their types."""

from __future__ import annotations

import io
import json
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, cast

import pyarrow as pa
from fastavro import block_reader

from executors.formats.arrow_types import nested_json
from executors.formats.avro_blocks import MAGIC, Block, Bytes, Header, list_blocks, malformed, read_blocks, read_header
from executors.formats.avro_schema import AvroColumn, AvroSchema, json_text, plain_schema
from executors.formats.batches import Batches, Framer, typed_schema
from executors.formats.columns import require_columns
from executors.formats.files import (
    BLOCK_BYTES,
    LOCAL_FILES,
    SPLIT_BYTES,
    FileStore,
    HashedBlocks,
    blocks_of,
    open_verified,
)
from executors.formats.limits import rows_for_cells
from executors.formats.typed_rows import TypedRows
from executors.model import FileScan, SourceField, SourceFile, Split
from ir.formats import Avro
from ir.nodes import SourceColumn

_MOST_ROWS = 1 << 14
_NAMED: dict[str, Any] = {
    "return_named_type": True,
    "return_named_type_override": True,
    "handle_unicode_errors": "surrogateescape",
}
"""How fastavro returns values of unions, and texts that are not valid."""
_HEADER_BLOCK = 64 << 10


def scan(
    file: SourceFile,
    fmt: Avro,
    declared: Sequence[SourceColumn] = (),
    *,
    store: FileStore = LOCAL_FILES,
    split_bytes: int = SPLIT_BYTES,
) -> FileScan:
    """Stream a file once and read the heads of its blocks. Raises Terminal for an unsupported type, a damaged file and
    a missing declared column."""
    with store.open(file) as stream:
        hashed = HashedBlocks(stream)
        data = Bytes(hashed)
        header = read_header(data, file.name)
        fields = _fields(header, file, declared)
        blocks = list(list_blocks(data, header, file.name))
    splits = tuple(_splits(file, hashed.sha256, blocks, file.size, split_bytes))
    records = sum(block.records for block in blocks)
    return FileScan(file, hashed.sha256, records, fields, splits).with_checksums(hashed.checksums)


def scan_head(
    file: SourceFile,
    fmt: Avro,
    declared: Sequence[SourceColumn] = (),
    *,
    store: FileStore = LOCAL_FILES,
    most_bytes: int,
) -> FileScan:
    """Scan the blocks that begin within the first bytes of a longer file, as one split. Raises as `scan`."""
    with store.open(file) as stream:
        data = Bytes(blocks_of(stream, 0, file.size))
        header = read_header(data, file.name)
        fields = _fields(header, file, declared)
        blocks: list[Block] = []
        end = file.size
        for block in list_blocks(data, header, file.name):
            if blocks and block.offset >= most_bytes:
                end = block.offset
                break
            blocks.append(block)
    splits = tuple(_splits(file, "", blocks, end, file.size))
    return FileScan(file, "", sum(block.records for block in blocks), fields, splits).with_checksums(None)


def _fields(header: Header, file: SourceFile, declared: Sequence[SourceColumn]) -> tuple[SourceField, ...]:
    fields = tuple(column.field for column in AvroSchema(header.schema, file.name).columns)
    require_columns(file.name, [field.name for field in fields], declared)
    return fields


def _splits(file: SourceFile, sha256: str, blocks: Sequence[Block], end: int, split_bytes: int) -> Iterator[Split]:
    """Yield splits of consecutive blocks, joined until a split is large enough. `end` is the end of the last block."""
    ends = [*(block.offset for block in blocks[1:]), end] if blocks else []
    start, first, rows = None, 1, 0
    for block, block_end in zip(blocks, ends, strict=True):
        start = block.offset if start is None else start
        rows += block.records
        if block_end - start >= split_bytes or block_end == end:
            yield Split(file, sha256, start, block_end, first, rows)
            start, first, rows = None, first + rows, 0


def read(
    split: Split,
    fmt: Avro,
    fields: Sequence[SourceField],
    declared: Sequence[SourceColumn] = (),
    *,
    store: FileStore = LOCAL_FILES,
    block_bytes: int = BLOCK_BYTES,
) -> Batches:
    """Return the records of a split, typed. A value that its column type cannot represent makes a bad row."""
    name = split.file.name
    with open_verified(split, store) as stream:
        header = read_header(Bytes(blocks_of(stream, 0, split.file.size, _HEADER_BLOCK)), name)
        schema = AvroSchema(header.schema, name)
        wanted = [field for field in fields if any(field.name == column.field.name for column in schema.columns)]
        columns = [next(c for c in schema.columns if c.field.name == field.name) for field in wanted]
        rows = TypedRows(wanted, declared, Framer(split, typed_schema(fields)))
        data = Bytes(blocks_of(stream, split.start, split.end, block_bytes), split.start)
        records = _records(read_blocks(data, header, name, schema.most_block_bytes), header, name)
        for group in _grouped(records, block_bytes, min(_MOST_ROWS, rows_for_cells(len(fields)))):
            batch, failed = _batch(group, columns)
            yield from rows.frame(batch, failed, lambda index, group=group: _shown(group[index]))  # type: ignore[misc]


class _PlainFile:
    """A file for fastavro with decompressed blocks, whose schema has no logical types. It notes where records end."""

    def __init__(self, header: Header, blocks: Iterable[tuple[int, bytes]]) -> None:
        self._parts = self._content(header, blocks)
        self._part, self._at = io.BytesIO(next(self._parts)), 0

    def _content(self, header: Header, blocks: Iterable[tuple[int, bytes]]) -> Iterator[bytes]:
        schema = json.dumps(plain_schema(header.schema)).encode()
        key = b"avro.schema"
        yield MAGIC + _long(1) + _long(len(key)) + key + _long(len(schema)) + schema + _long(0) + header.sync
        for records, data in blocks:
            if records:
                yield b"".join((_long(records), _long(len(data)), data, header.sync))

    def read(self, size: int) -> bytes:
        found = self._part.read(size)
        while len(found) < size and (part := next(self._parts, b"")):
            self._part = io.BytesIO(part)
            found += self._part.read(size - len(found))
        self._at += len(found)
        return found

    def tell(self) -> int:
        return self._at


def _records(blocks: Iterator[tuple[int, bytes]], header: Header, name: str) -> Iterator[tuple[int, dict[str, Any]]]:
    """Yield each record with its size in bytes. Raises InvalidContent for records that do not fill their block."""
    try:
        for block in cast(Any, block_reader(cast(Any, _PlainFile(header, blocks)), **_NAMED)):
            content, before = block.bytes_, 0
            for record in block:
                at = content.tell()
                yield at - before, record
                before = at
            if content.read(1):
                raise malformed(name, "a block holds more than its records")
    except (EOFError, IndexError, ValueError, RecursionError, MemoryError, OverflowError) as error:
        raise malformed(name, "a record cannot be read") from error


def _grouped(
    records: Iterator[tuple[int, dict[str, Any]]], most_bytes: int, most_rows: int
) -> Iterator[list[dict[str, Any]]]:
    group: list[dict[str, Any]] = []
    held = 0
    for size, record in records:
        if group and held + size > most_bytes:
            yield group
            group, held = [], 0
        group.append(record)
        held += size
        if len(group) >= most_rows:
            yield group
            group, held = [], 0
    if group:
        yield group


# --- values ------------------------------------------------------------------------------------------------------


def _batch(records: Sequence[dict[str, Any]], columns: Sequence[AvroColumn]) -> tuple[pa.RecordBatch, dict[int, str]]:
    """Return the values as Arrow columns, and the reasons for the records with a value that its type does not have."""
    arrays: list[pa.Array] = []
    failed: dict[int, str] = {}
    for column in columns:
        name = column.field.name
        values = [record[name] for record in records]
        try:
            arrays.append(_array(values, column))
        except (ValueError, OverflowError, TypeError, pa.ArrowException):
            good, bad = _one_by_one(values, column)
            arrays.append(_array(good, column))
            for index in bad:
                failed.setdefault(index, f"column {name!r} does not fit {column.field.type}")
    batch = pa.RecordBatch.from_arrays(arrays, names=[column.field.name for column in columns])
    return batch, failed


def _array(values: Sequence[Any], column: AvroColumn) -> pa.Array:
    if column.to_json:
        to_json = column.to_json
        return pa.array([None if value is None else json_text(to_json(value)) for value in values], pa.string())
    if not column.logical:
        return pa.array(values, column.arrow)
    convert = column.logical.value
    stored = [None if value is None else convert(value) for value in values]
    if column.logical.stored:
        return pa.array(stored, column.logical.stored).view(column.arrow)
    if isinstance(column.arrow, pa.BaseExtensionType):
        return pa.ExtensionArray.from_storage(column.arrow, pa.array(stored, column.arrow.storage_type))
    return pa.array(stored, column.arrow)


def _one_by_one(values: Sequence[Any], column: AvroColumn) -> tuple[list[Any], list[int]]:
    """Return the values with NULL for those that their type does not have, and the positions of these."""
    good, bad = list(values), []
    for index, value in enumerate(values):
        try:
            _array([value], column)
        except (ValueError, OverflowError, TypeError, pa.ArrowException):
            good[index] = None
            bad.append(index)
    return good, bad


def _shown(record: dict[str, Any]) -> str:
    """Return one record as text for display, with values as they are stored."""
    return "; ".join(f"{name}: {_shown_value(value)}" for name, value in record.items())


def _shown_value(value: Any) -> str:
    text = value if isinstance(value, str) else nested_json(list(value) if isinstance(value, tuple) else value)
    return "NULL" if text is None else text.encode("utf-8", "surrogateescape").decode("utf-8", "backslashreplace")


def _long(value: int) -> bytes:
    """Encode a number that is not negative."""
    value <<= 1
    out = bytearray()
    while value > 127:
        out.append(value & 127 | 128)
        value >>= 7
    out.append(value)
    return bytes(out)
