"""Reads JSON Lines: one object per line, in UTF-8."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np

from executors.formats.batches import BadRecords, Batches, Framer, text_schema
from executors.formats.columns import declared_fields, require_columns
from executors.formats.compression import TextContent
from executors.formats.encodings import bom_length, escaped, to_utf8
from executors.formats.files import (
    BLOCK_BYTES,
    LOCAL_FILES,
    SPLIT_BYTES,
    FileStore,
    HashedBlocks,
    blocks_of,
    open_verified,
)
from executors.formats.json_rows import BadRecordError, FieldsFound, Row, columns_of, read_row
from executors.formats.limits import refuse_too_many_columns, rows_for_cells
from executors.formats.records import Chunk, RecordFinder, whole_records
from executors.formats.splits import SplitPlanner, head_split
from executors.model import FileScan, SourceField, SourceFile, Split
from ir.formats import Jsonl
from ir.nodes import SourceColumn


def scan(
    file: SourceFile,
    fmt: Jsonl,
    declared: Sequence[SourceColumn] = (),
    *,
    store: FileStore = LOCAL_FILES,
    split_bytes: int = SPLIT_BYTES,
    block_bytes: int = BLOCK_BYTES,
) -> FileScan:
    """Stream a file once and read the keys of every line. Raises Terminal for a missing declared column."""
    found, planner, finder = FieldsFound(), SplitPlanner(file.size, split_bytes), RecordFinder()
    with store.open(file) as stream:
        content = TextContent.of(stream, file)
        position = bom_length(content.head(4), file.name)
        stream.seek(0)
        blocks = HashedBlocks(stream, block_bytes)
        for chunk in whole_records(to_utf8(content.expand(blocks), "utf-8"), finder, file.name):
            planner.add(chunk.starts + position)
            position += len(chunk.data)
            _add_fields(found, chunk, file.name)
    fields = found.fields() or declared_fields(declared)
    require_columns(file.name, [f.name for f in fields], declared)
    plan = planner.splits if content.has_ranges else planner.one_split
    splits, first_line = plan(file, blocks.sha256), 1 if finder.one_line_each else None
    records = planner.records
    scan = FileScan(file, blocks.sha256, records, fields, splits, first_line=first_line, is_blank=not records)
    return scan.with_checksums(blocks.checksums)


def scan_head(
    file: SourceFile,
    fmt: Jsonl,
    declared: Sequence[SourceColumn] = (),
    *,
    store: FileStore = LOCAL_FILES,
    most_bytes: int,
) -> FileScan:
    """Scan the complete lines within the first bytes of a longer file, as one split. Raises as `scan`."""
    found, finder, starts = FieldsFound(), RecordFinder(), []
    with store.open(file) as stream:
        content = TextContent.of(stream, file)
        position = bom_length(content.head(4), file.name)
        for chunk in whole_records(to_utf8(content.first_blocks(most_bytes), "utf-8"), finder, file.name):
            starts.append(chunk.starts + position)
            position += len(chunk.data)
            _add_fields(found, chunk, file.name)
    require_columns(file.name, [f.name for f in found.fields()], declared)
    splits = head_split(file, np.concatenate(starts), in_bytes=content.has_ranges)
    return FileScan(file, "", sum(split.records for split in splits), found.fields(), splits)


def read(
    split: Split,
    fmt: Jsonl,
    fields: Sequence[SourceField],
    declared: Sequence[SourceColumn] = (),
    *,
    store: FileStore = LOCAL_FILES,
    block_bytes: int = BLOCK_BYTES,
) -> Batches:
    """Return the lines of a split as text columns. A line that is not an object becomes a bad row. Raises Transient
    `source.changed`."""
    framer, names = Framer(split, text_schema(fields)), [f.name for f in fields]
    with open_verified(split, store) as stream:
        content = TextContent.of(stream, split.file)
        blocks = blocks_of(stream, split.start, split.end, block_bytes)
        if not content.has_ranges:
            blocks = to_utf8(content.blocks(block_bytes), "utf-8")
        chunks = whole_records(blocks, RecordFinder(), split.file.name)
        for chunk in (piece for whole in chunks for piece in whole.pieces(rows_for_cells(len(names)))):
            good, bad = [], BadRecords()
            for index, (row, _, reason) in enumerate(_rows(chunk)):
                if row is None:
                    bad.add(index, reason, escaped(chunk.record(index)))
                else:
                    good.append(row)
            yield framer.batch(len(chunk.starts), columns_of(good, names), bad)


def _add_fields(found: FieldsFound, chunk: Chunk, name: str) -> None:
    for row, nested, _ in _rows(chunk):
        if row is not None:
            found.add(row, nested)
    refuse_too_many_columns(name, found.count)


def _rows(chunk: Chunk) -> Iterable[tuple[Row | None, frozenset[str], str]]:
    """Yield each record's row and nested keys, or None and the reason."""
    for record in chunk.records():
        try:
            row, nested = read_row(record.decode())
        except UnicodeDecodeError:
            yield None, frozenset(), "not valid utf-8"
        except BadRecordError as error:
            yield None, frozenset(), str(error)
        else:
            yield row, nested, ""
