"""Reads CSV and TSV: Flow's own scan finds the records, pyarrow.csv reads the cells, and columns are matched by
name."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import chain

import numpy as np

from executors.errors import InvalidContent, Terminal
from executors.formats import columns
from executors.formats.batches import Batches, Framer, text_schema
from executors.formats.compression import TextContent
from executors.formats.csv_cells import CellReader
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
from executors.formats.format_mismatches import HEAD_BYTES, blaming_settings, find_mismatches
from executors.formats.limits import refuse_too_many_columns
from executors.formats.records import Chunk, RecordFinder, quote_not_closed, whole_records
from executors.formats.separator_line import is_separator_line
from executors.formats.splits import SplitPlanner, head_split
from executors.model import FileScan, SourceField, SourceFile, Split
from ir.formats import Csv, Tsv
from ir.nodes import SourceColumn
from ir.types import STRING

Delimited = Csv | Tsv

MOST_HEADER_BYTES = 4 << 20
_TOP_BLOCK_BYTES = 2 << 10
_FIRST_LINE = re.compile(rb"[^\r\n]+(?=[\r\n])")


def scan(
    file: SourceFile,
    fmt: Delimited,
    declared: Sequence[SourceColumn] = (),
    *,
    store: FileStore = LOCAL_FILES,
    split_bytes: int = SPLIT_BYTES,
    block_bytes: int = BLOCK_BYTES,
) -> FileScan:
    """Stream a file once. A compressed file and one in another encoding than UTF-8 are one split.

    Raises Terminal for a missing declared column, an unusable setting, a wrong encoding and an unclosed quote.
    """
    finder = finder_of(fmt)
    with store.open(file) as stream:
        content = TextContent.of(stream, file)
        head = content.head(HEAD_BYTES)
        position = bom_length(head, file.name) if is_utf8(fmt.encoding) else 0
        mismatches = find_mismatches(head, fmt)
        with blaming_settings(mismatches):
            top = read_top(content, file, fmt, declared)
            if names := top.names:
                columns.require_columns(file.name, names, declared)
        warnings = list(top.warnings)
        if mismatches and len(names) == 1:
            warnings.append(f"The format's settings may be wrong: {'; '.join(mismatches)}.")
        stream.seek(0)
        blocks = HashedBlocks(stream, block_bytes)
        planner = SplitPlanner(file.size, split_bytes, skip=top.records)
        for block in to_utf8(content.expand(blocks), fmt.encoding):
            planner.add(finder.starts(block) + position)
            position += len(block)
    if finder.in_quotes:
        raise quote_not_closed(file.name, planner.records)
    plan = planner.splits if has_byte_offsets(content, fmt) else planner.one_split
    fields = tuple(SourceField(name, STRING) for name in names) or columns.declared_fields(declared)
    first_line = 1 + top.records if finder.one_line_each else None
    splits = plan(file, blocks.sha256)
    scan = FileScan(file, blocks.sha256, planner.records, fields, splits, tuple(warnings), first_line, not names)
    return scan.with_checksums(blocks.checksums)


def scan_head(
    file: SourceFile,
    fmt: Delimited,
    declared: Sequence[SourceColumn] = (),
    *,
    store: FileStore = LOCAL_FILES,
    most_bytes: int,
) -> FileScan:
    """Scan the first bytes of a longer file: its complete records, as one split. Raises as `scan`, except for an
    unclosed quote."""
    finder = finder_of(fmt)
    with store.open(file) as stream:
        content = TextContent.of(stream, file)
        position = bom_length(content.head(4), file.name) if is_utf8(fmt.encoding) else 0
        with blaming_settings(find_mismatches(content.head(HEAD_BYTES), fmt)):
            top = read_top(content, file, fmt, declared)
            columns.require_columns(file.name, top.names, declared)
        starts = []
        for block in to_utf8(content.first_blocks(most_bytes), fmt.encoding):
            starts.append(finder.starts(block) + position)
            position += len(block)
    splits = head_split(file, np.concatenate(starts)[top.records :], in_bytes=has_byte_offsets(content, fmt))
    fields = tuple(SourceField(name, STRING) for name in top.names)
    return FileScan(file, "", sum(split.records for split in splits), fields, splits)


def read_header(file: SourceFile, fmt: Delimited, store: FileStore) -> list[str]:
    """Return the column names in a file's first record. Raises as `scan` for an unreadable header."""
    with store.open(file) as stream:
        return list(read_top(TextContent.of(stream, file), file, fmt, ()).names)


def read(
    split: Split,
    fmt: Delimited,
    fields: Sequence[SourceField],
    declared: Sequence[SourceColumn] = (),
    *,
    store: FileStore = LOCAL_FILES,
    block_bytes: int = BLOCK_BYTES,
) -> Batches:
    """Return the records of a split as text, with one batch for about each block of bytes.

    A record whose number of cells differs from the header, or whose text is invalid in its encoding, becomes a bad row
    with its number and raw text. Raises Transient `source.changed`.
    """
    with open_verified(split, store) as stream:
        content = TextContent.of(stream, split.file)
        top = read_top(content, split.file, fmt, declared)
        framer = Framer(split, text_schema(fields))
        parser = CellReader(fmt, top.names, [f.name for f in fields if f.name in top.names], split.file.name)
        for chunk in chunks_of(content, split, fmt, top.records, block_bytes):
            yield from framer.batches(len(chunk.starts), *parser.read(chunk))


def chunks_of(content: TextContent, split: Split, fmt: Delimited, skip: int, block_bytes: int) -> Iterator[Chunk]:
    """Return the complete records of a split. The first `skip` records of the file are not data."""
    finder, name = finder_of(fmt), split.file.name
    if has_byte_offsets(content, fmt):
        yield from whole_records(blocks_of(content.stream, split.start, split.end, block_bytes), finder, name)
        return
    blocks = to_utf8(content.blocks(block_bytes), fmt.encoding)
    left = skip
    for chunk in whole_records(blocks, finder, name):
        rest = Chunk(chunk.data, chunk.starts[left:])
        left = max(0, left - len(chunk.starts))
        if len(rest.starts):
            cut = int(rest.starts[0])
            yield Chunk(rest.data[cut:], rest.starts - cut)


def has_byte_offsets(content: TextContent, fmt: Delimited) -> bool:
    """Return whether the offsets of records are those of bytes in the file."""
    return content.has_ranges and is_utf8(fmt.encoding)


def finder_of(fmt: Delimited) -> RecordFinder:
    for name, value in (("delimiter", fmt.delimiter), ("quote", fmt.quote)):
        if not value.isascii() or value in "\r\n\0" or fmt.delimiter == fmt.quote:
            raise Terminal(
                f"source.{name}_unusable",
                f"The {name} {value!r} cannot be used: delimiter and quote are two different ASCII characters, no line "
                "end.",
                hint=f"Choose another {name} in the source's format.",
            )
    return RecordFinder(ord(fmt.quote), ord(fmt.delimiter))


# --- the top of a file -------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Top:
    """The column names in order, none for a file without a record, and warnings about them. `records` is the number of
    records above the data: the header, and a line that names the delimiter."""

    names: Sequence[str]
    warnings: Sequence[str]
    records: int


def read_top(content: TextContent, file: SourceFile, fmt: Delimited, declared: Sequence[SourceColumn]) -> Top:
    finder = finder_of(fmt)
    blocks = to_utf8(content.blocks(_TOP_BLOCK_BYTES), fmt.encoding)
    head, above = next(blocks, b""), int(fmt.header)
    # To look for records takes most of the time of a small file, and nearly all first lines are a record.
    line = None if ord(fmt.quote) in head else _FIRST_LINE.match(head)
    if line and not is_separator_line(line[0]):
        return Top(*_names(line[0], file, fmt, declared), above)
    blocks = chain((head,), blocks)
    records = chain.from_iterable(chunk.records() for chunk in whole_records(blocks, finder, file.name))
    first = next(records, None)
    if first is not None and is_separator_line(first):
        first, above = next(records, None), above + 1
    if first is None:
        return Top((), (), above)
    return Top(*_names(first, file, fmt, declared), above)


def _names(
    record: bytes, file: SourceFile, fmt: Delimited, declared: Sequence[SourceColumn]
) -> tuple[list[str], list[str]]:
    """Return the file's column names in order, from its first record, and warnings about them."""
    if fmt.header and len(record) > MOST_HEADER_BYTES:
        raise _header_unreadable(file, f"it is longer than {MOST_HEADER_BYTES >> 20} MB")
    if fmt.header and not is_valid(record):
        raise _header_unreadable(file, f"it is not valid {fmt.encoding}")
    cells = _cells(record.decode() if fmt.header else escaped(record), fmt, file)
    refuse_too_many_columns(file.name, len(cells))
    return columns.names_from_header(cells) if fmt.header else (columns.names_without_header(len(cells), declared), [])


def _cells(record: str, fmt: Delimited, file: SourceFile) -> list[str]:
    lines = io.StringIO(record, newline="")
    try:
        return next(csv.reader(lines, delimiter=fmt.delimiter, quotechar=fmt.quote))
    except csv.Error as error:
        raise _header_unreadable(file, str(error)) from error


def _header_unreadable(file: SourceFile, why: str) -> InvalidContent:
    return InvalidContent(
        "source.header_unreadable",
        f"The first record of {file.name} cannot be read: {why}.",
        hint="Check the format's encoding, delimiter and quote.",
    )
