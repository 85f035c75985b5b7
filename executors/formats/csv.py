"""Reads CSV and TSV: Flow's own scan finds the records, pyarrow.csv reads the cells, and columns are matched by
name."""

from __future__ import annotations

import csv
import io
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain

import numpy as np
import pyarrow as pa
from pyarrow import csv as arrow_csv

from executors.errors import InvalidContent, Terminal
from executors.formats import columns
from executors.formats.batches import BadRecords, Batches, Framer, text_schema
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
from executors.formats.format_mismatches import HEAD_BYTES, blaming_settings, find_mismatches
from executors.formats.limits import refuse_too_many_columns
from executors.formats.records import Chunk, Offsets, RecordFinder, quote_not_closed, whole_records
from executors.formats.separator_line import is_separator_line
from executors.formats.splits import SplitPlanner, head_split
from executors.model import FileScan, SourceField, SourceFile, Split
from ir.formats import Csv, Tsv
from ir.nodes import SourceColumn
from ir.types import STRING

Delimited = Csv | Tsv

MOST_HEADER_BYTES = 4 << 20


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
    finder = _finder(fmt)
    with store.open(file) as stream:
        content = TextContent.of(stream, file)
        position = bom_length(content.head(4), file.name) if is_utf8(fmt.encoding) else 0
        mismatches = find_mismatches(content.head(HEAD_BYTES), fmt)
        with blaming_settings(mismatches):
            top = _read_top(content, file, fmt, declared)
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
    plan = planner.splits if _has_byte_offsets(content, fmt) else planner.one_split
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
    finder = _finder(fmt)
    with store.open(file) as stream:
        content = TextContent.of(stream, file)
        position = bom_length(content.head(4), file.name) if is_utf8(fmt.encoding) else 0
        with blaming_settings(find_mismatches(content.head(HEAD_BYTES), fmt)):
            top = _read_top(content, file, fmt, declared)
            columns.require_columns(file.name, top.names, declared)
        starts = []
        for block in to_utf8(content.first_blocks(most_bytes), fmt.encoding):
            starts.append(finder.starts(block) + position)
            position += len(block)
    splits = head_split(file, np.concatenate(starts)[top.records :], in_bytes=_has_byte_offsets(content, fmt))
    fields = tuple(SourceField(name, STRING) for name in top.names)
    return FileScan(file, "", sum(split.records for split in splits), fields, splits)


def read_header(file: SourceFile, fmt: Delimited, store: FileStore) -> list[str]:
    """Return the column names in a file's first record. Raises as `scan` for an unreadable header."""
    with store.open(file) as stream:
        return list(_read_top(TextContent.of(stream, file), file, fmt, ()).names)


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
        top = _read_top(content, split.file, fmt, declared)
        framer = Framer(split, text_schema(fields))
        parser = _CellReader(fmt, top.names, [f.name for f in fields if f.name in top.names], split.file.name)
        for chunk in _chunks(content, split, fmt, top.records, block_bytes):
            yield from framer.batches(len(chunk.starts), *parser.read(chunk))


def _chunks(content: TextContent, split: Split, fmt: Delimited, skip: int, block_bytes: int) -> Iterator[Chunk]:
    """Return the complete records of a split. The first `skip` records of the file are not data."""
    finder, name = _finder(fmt), split.file.name
    if _has_byte_offsets(content, fmt):
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


def _has_byte_offsets(content: TextContent, fmt: Delimited) -> bool:
    """Return whether the offsets of records are those of bytes in the file."""
    return content.has_ranges and is_utf8(fmt.encoding)


def _finder(fmt: Delimited) -> RecordFinder:
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
class _Top:
    """The column names in order, none for a file without a record, and warnings about them. `records` is the number of
    records above the data: the header, and a line that names the delimiter."""

    names: Sequence[str]
    warnings: Sequence[str]
    records: int


def _read_top(content: TextContent, file: SourceFile, fmt: Delimited, declared: Sequence[SourceColumn]) -> _Top:
    blocks = to_utf8(content.blocks(64 << 10), fmt.encoding)
    records = chain.from_iterable(chunk.records() for chunk in whole_records(blocks, _finder(fmt), file.name))
    first, above = next(records, None), int(fmt.header)
    if first is not None and is_separator_line(first):
        first, above = next(records, None), above + 1
    if first is None:
        return _Top((), (), above)
    return _Top(*_names(first, file, fmt, declared), above)


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


# --- cells -------------------------------------------------------------------------------------------------------


class _CellReader:
    """Reads the cells of complete records."""

    def __init__(self, fmt: Delimited, names: Sequence[str], wanted: Sequence[str], file: str) -> None:
        self._names, self._wanted, self._file = list(names), list(wanted), file
        self._encoding, self._delimiter, self._quote = fmt.encoding, fmt.delimiter, fmt.quote
        self._convert = arrow_csv.ConvertOptions(
            column_types=dict.fromkeys(names, pa.string()),
            strings_can_be_null=True,
            quoted_strings_can_be_null=False,
            null_values=["", *fmt.null_values],
            include_columns=self._wanted or self._names[:1],
            check_utf8=False,
        )

    def read(self, chunk: Chunk) -> tuple[Mapping[str, pa.Array], BadRecords]:
        """Return the columns of the readable records, and the unreadable records."""
        bad = BadRecords()
        data, remaining = self._without_broken(chunk, bad)
        ragged: list[tuple[int, str]] = []
        table = self._table(data, _note_in(ragged)) if len(remaining) else None
        for number, reason in ragged:
            index = int(remaining[number - 1])
            bad.add(index, reason, escaped(chunk.record(index)))
        found = len(bad.reasons) + (table.num_rows if table is not None else 0)
        if found != len(chunk.starts):
            raise InvalidContent(
                "source.records_differ",
                f"{self._file}: the scan found {len(chunk.starts)} records where the reader found {found}.",
                hint="The target was not loaded. Please report this file. It shows a bug in Flow.",
            )
        if table is None:
            return {name: pa.array([], pa.string()) for name in self._wanted}, bad
        return {name: _one_array(table[name]) for name in self._wanted}, bad

    def _without_broken(self, chunk: Chunk, bad: BadRecords) -> tuple[bytes, Offsets]:
        """Return the bytes of the records with valid text, and their offsets. The others are added to `bad`."""
        every = np.arange(len(chunk.starts))
        if is_valid(chunk.data):
            return chunk.data, every
        for index, record in enumerate(chunk.records()):
            if not is_valid(record):
                bad.add(index, f"not valid {self._encoding}", escaped(record))
        remaining = np.array([index for index in every if index not in bad.reasons], dtype=np.int64)
        return b"\n".join(chunk.record(index) for index in remaining), remaining

    def _table(self, data: bytes, note: Callable[[arrow_csv.InvalidRow], str]) -> pa.Table:
        # `open_csv` parses in this thread. `read_csv` waits for another one, longer than a small file takes.
        with arrow_csv.open_csv(
            pa.py_buffer(data),
            read_options=arrow_csv.ReadOptions(use_threads=False, column_names=self._names, block_size=len(data) + 1),
            parse_options=arrow_csv.ParseOptions(
                delimiter=self._delimiter,
                quote_char=self._quote,
                newlines_in_values=self._quote.encode() in data,
                invalid_row_handler=note,
            ),
            convert_options=self._convert,
        ) as reader:
            return reader.read_all()


def _note_in(ragged: list[tuple[int, str]]) -> Callable[[arrow_csv.InvalidRow], str]:
    def note(row: arrow_csv.InvalidRow) -> str:
        ragged.append((row.number, f"expected {row.expected_columns} cells, found {row.actual_columns}"))
        return "skip"

    return note


def _one_array(values: pa.ChunkedArray) -> pa.Array:
    return values.chunk(0) if values.num_chunks == 1 else values.combine_chunks()
