"""Reads text of fixed width: one record per line, whose columns have positions."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from executors.formats.batches import BadRecords, Batches, Framer, text_schema
from executors.formats.columns import require_columns
from executors.formats.compression import TextContent
from executors.formats.encodings import bom_length, escaped, is_utf8, is_valid, to_utf8
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
from executors.formats.records import Chunk, RecordFinder, whole_records
from executors.formats.splits import SplitPlanner, head_split
from executors.model import FileScan, SourceField, SourceFile, Split
from ir.formats import FixedWidth
from ir.nodes import SourceColumn
from ir.types import STRING


def scan(
    file: SourceFile,
    fmt: FixedWidth,
    declared: Sequence[SourceColumn] = (),
    *,
    store: FileStore = LOCAL_FILES,
    split_bytes: int = SPLIT_BYTES,
    block_bytes: int = BLOCK_BYTES,
) -> FileScan:
    """Stream a file once. A compressed file and one in another encoding than UTF-8 are one split. Raises Terminal for
    a missing declared column and a wrong encoding."""
    fields, finder = _fields(fmt, file, declared), RecordFinder()
    planner = SplitPlanner(file.size, split_bytes, skip=fmt.skip_lines)
    with store.open(file) as stream:
        content = TextContent.of(stream, file)
        position = bom_length(content.head(4), file.name) if is_utf8(fmt.encoding) else 0
        stream.seek(0)
        blocks = HashedBlocks(stream, block_bytes)
        for block in to_utf8(content.expand(blocks), fmt.encoding):
            planner.add(finder.starts(block) + position)
            position += len(block)
    plan = planner.splits if _has_byte_offsets(content, fmt) else planner.one_split
    records, splits = planner.records, plan(file, blocks.sha256)
    first_line = 1 + fmt.skip_lines if finder.one_line_each else None
    scan = FileScan(file, blocks.sha256, records, fields, splits, first_line=first_line, is_blank=not records)
    return scan.with_checksums(blocks.checksums)


def scan_head(
    file: SourceFile,
    fmt: FixedWidth,
    declared: Sequence[SourceColumn] = (),
    *,
    store: FileStore = LOCAL_FILES,
    most_bytes: int,
) -> FileScan:
    """Scan the complete lines within the first bytes of a longer file, as one split. Raises as `scan`."""
    fields, finder, starts = _fields(fmt, file, declared), RecordFinder(), []
    with store.open(file) as stream:
        content = TextContent.of(stream, file)
        position = bom_length(content.head(4), file.name) if is_utf8(fmt.encoding) else 0
        for block in to_utf8(content.first_blocks(most_bytes), fmt.encoding):
            starts.append(finder.starts(block) + position)
            position += len(block)
    found = np.concatenate(starts)[fmt.skip_lines :]
    splits = head_split(file, found, in_bytes=_has_byte_offsets(content, fmt))
    return FileScan(file, "", sum(split.records for split in splits), fields, splits)


def read(
    split: Split,
    fmt: FixedWidth,
    fields: Sequence[SourceField],
    declared: Sequence[SourceColumn] = (),
    *,
    store: FileStore = LOCAL_FILES,
    block_bytes: int = BLOCK_BYTES,
) -> Batches:
    """Return the lines of a split as text columns. A line that ends before its last column does, one with text
    after that, and one with invalid text become bad rows. Raises Transient `source.changed`.
    """
    framer, reader = Framer(split, text_schema(fields)), _LineReader(fmt, [f.name for f in fields])
    with open_verified(split, store) as stream:
        content = TextContent.of(stream, split.file)
        for chunk in _chunks(content, split, fmt, block_bytes):
            for piece in chunk.pieces(rows_for_cells(len(fields))):
                yield from framer.batches(len(piece.starts), *reader.read(piece))


def _fields(fmt: FixedWidth, file: SourceFile, declared: Sequence[SourceColumn]) -> tuple[SourceField, ...]:
    names = [column.name for column in fmt.columns]
    require_columns(file.name, names, declared)
    return tuple(SourceField(name, STRING) for name in names)


def _has_byte_offsets(content: TextContent, fmt: FixedWidth) -> bool:
    return content.has_ranges and is_utf8(fmt.encoding)


def _chunks(content: TextContent, split: Split, fmt: FixedWidth, block_bytes: int) -> Iterator[Chunk]:
    finder, name = RecordFinder(), split.file.name
    if _has_byte_offsets(content, fmt):
        yield from whole_records(blocks_of(content.stream, split.start, split.end, block_bytes), finder, name)
        return
    left = fmt.skip_lines
    for chunk in whole_records(to_utf8(content.blocks(block_bytes), fmt.encoding), finder, name):
        rest = Chunk(chunk.data, chunk.starts[left:])
        left = max(0, left - len(chunk.starts))
        if len(rest.starts):
            cut = int(rest.starts[0])
            yield Chunk(rest.data[cut:], rest.starts - cut)


class _LineReader:
    """Cuts lines into columns, by characters."""

    def __init__(self, fmt: FixedWidth, wanted: Sequence[str]) -> None:
        self._fmt = fmt
        self._columns = [(column.name, start, end) for column, start, end in fmt.ranges() if column.name in wanted]
        self._end = max(end for _, _, end in fmt.ranges())
        self._nulls = pa.array(["", *fmt.null_values], pa.string())

    def read(self, chunk: Chunk) -> tuple[Mapping[str, pa.Array], BadRecords]:
        bad = BadRecords()
        good: list[bytes] = []
        for index, record in enumerate(chunk.records()):
            if reason := self._fault(record):
                bad.add(index, reason, escaped(record))
            else:
                good.append(record)
        lines = pa.array(good, pa.binary()).cast(pa.string())
        return {name: self._cells(lines, start, end) for name, start, end in self._columns}, bad

    def _fault(self, record: bytes) -> str:
        if not is_valid(record):
            return f"not valid {self._fmt.encoding}"
        length = len(record) if record.isascii() else len(record.decode())
        if length < self._end:
            return f"expected {self._end} characters, found {length}"
        if length > self._end and record.decode()[self._end :].strip():
            return f"expected {self._end} characters, found {length}"
        return ""

    def _cells(self, lines: pa.Array, start: int, end: int) -> pa.Array:
        cells = pc.utf8_slice_codeunits(lines, start, end)
        if self._fmt.trim:
            cells = pc.utf8_trim(cells, characters=" ")
        return pc.if_else(pc.is_in(cells, value_set=self._nulls), pa.scalar(None, pa.string()), cells)
