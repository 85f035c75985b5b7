"""Estimates the memory that a Parquet file needs, from its footer and page headers, before any value is decoded.

A page is decompressed as a whole, and a list is decoded as a whole: both are bounded here. Everything else is read in
batches, whose size `rows_per_batch` chooses.
"""

from __future__ import annotations

import struct
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import pyarrow as pa
from pyarrow import parquet

from executors.errors import InvalidContent
from executors.formats.limits import BATCH_BYTES, expands_too_much, refuse_too_many_columns
from executors.formats.verified import ByteStream

MOST_FOOTER_BYTES = 64 << 20
MOST_PAGE_BYTES = 128 << 20
MOST_LIST_BYTES = 128 << 20
MOST_LIST_RATIO = 64
"""The maximum ratio of decoded size to size in the file for columns of lists larger than MOST_LIST_BYTES."""
MOST_LIST_TEXT_BYTES, MOST_LIST_TEXT_RATIO = 512 << 20, 1000
"""The same limits for texts, if each were as long as the longest."""

SHORT_BYTES = 256
"""A batch of the maximum number of rows, each with a text of this length, stays within the limit."""

_PREFIX = struct.Struct("<I")
_WIDTHS = {"BOOLEAN": 1, "INT32": 4, "INT64": 8, "INT96": 12, "FLOAT": 4, "DOUBLE": 8, "BYTE_ARRAY": 8}
_ENDING, _MOST_BITS, _MOST_DEPTH = 8, 63, 8


@dataclass(frozen=True, slots=True)
class Page:
    compressed: int
    uncompressed: int


def refuse_large_footer(stream: ByteStream, size: int, name: str) -> None:
    """Check the size of the footer before it is parsed."""
    if size < _ENDING:
        return
    stream.seek(size - _ENDING)
    length = int.from_bytes(stream.read(_ENDING)[:4], "little")
    if MOST_FOOTER_BYTES < length < size:
        raise expands_too_much(name, f"its footer holds {length >> 20:,} MB")


def refuse_unbounded(stream: ByteStream, footer: parquet.FileMetaData, name: str) -> None:
    """Refuse a file that cannot be read in bounded memory. Reads the headers of all pages."""
    refuse_too_many_columns(name, footer.num_columns)
    for group in range(footer.num_row_groups):
        for index in range(footer.num_columns):
            chunk = footer.row_group(group).column(index)
            if not chunk.num_values:
                continue
            _refuse_long_lists(stream, footer, index, chunk, name)
            for page in pages_of(stream, chunk, name):
                if page.uncompressed > MOST_PAGE_BYTES:
                    size = f"{page.uncompressed >> 20:,} MB"
                    raise expands_too_much(name, f"a page of column {chunk.path_in_schema!r} takes {size} at once")


def _refuse_long_lists(
    stream: ByteStream, footer: parquet.FileMetaData, index: int, chunk: parquet.ColumnChunkMetaData, name: str
) -> None:
    if not footer.schema.column(index).max_repetition_level:
        return
    size, text = chunk.num_values * _width(footer, index), 0
    if _has_text_entries(chunk):
        text = chunk.num_values * _longest(stream, chunk, name)
    written = chunk.total_compressed_size
    if (size > MOST_LIST_BYTES and size > MOST_LIST_RATIO * written) or (
        text > MOST_LIST_TEXT_BYTES and text > MOST_LIST_TEXT_RATIO * written
    ):
        what = f"the lists of column {chunk.path_in_schema!r} take up to {max(size, text) >> 20:,} MB in one row group"
        raise expands_too_much(name, what)


def _width(footer: parquet.FileMetaData, index: int) -> int:
    column = footer.schema.column(index)
    return _WIDTHS.get(column.physical_type) or max(1, column.length)


def dictionary_columns(stream: ByteStream, opened: parquet.ParquetFile, groups: Iterable[int], name: str) -> list[str]:
    """Return the columns to read as references to their dictionary until the size of their texts is known: those with
    an entry longer than SHORT_BYTES. Other columns are faster to read decoded. Columns inside nested values and
    extension types cannot be read as references."""
    footer = opened.metadata
    plain = {field.name for field in opened.schema_arrow if not isinstance(field.type, pa.BaseExtensionType)}
    found: dict[str, bool] = {}
    for group in groups:
        for index in range(footer.num_columns):
            path, chunk = footer.schema.column(index).path, footer.row_group(group).column(index)
            if _has_text_entries(chunk) and path in plain and not found.get(path):
                found[path] = _longest(stream, chunk, name) > SHORT_BYTES
    return [path for path, is_long in found.items() if is_long]


def _has_text_entries(chunk: parquet.ColumnChunkMetaData) -> bool:
    return bool(chunk.physical_type == "BYTE_ARRAY" and chunk.has_dictionary_page and chunk.num_values)


def _longest(stream: ByteStream, chunk: parquet.ColumnChunkMetaData, name: str) -> int:
    """Return an upper bound for the length of the longest entry in the dictionary of a column."""
    at, end = _bounds(chunk)
    page, length = _page_at(stream, at, end, name)
    if page.uncompressed <= SHORT_BYTES or page.uncompressed > MOST_PAGE_BYTES:
        return page.uncompressed
    stream.seek(at + length)
    data = stream.read(page.compressed)
    if chunk.compression != "UNCOMPRESSED":
        try:
            data = pa.decompress(data, page.uncompressed, codec=chunk.compression.lower(), asbytes=True)
        except (pa.ArrowException, OSError, ValueError):
            return page.uncompressed
    longest = index = 0
    while index + _PREFIX.size <= len(data):
        entry = _PREFIX.unpack_from(data, index)[0]
        longest = max(longest, entry)
        index += _PREFIX.size + entry
    return longest


def rows_per_batch(
    stream: ByteStream, footer: parquet.FileMetaData, groups: Iterable[int], dictionary_paths: Iterable[str], name: str
) -> int:
    """Return how many rows to decode at once so that they take at most about BATCH_BYTES. The texts of
    `dictionary_paths` stay references to their dictionary."""
    dictionary_paths = frozenset(dictionary_paths)
    least = BATCH_BYTES
    for group in groups:
        rows = max(1, footer.row_group(group).num_rows)
        row_bytes = 0.0
        for index in range(footer.num_columns):
            chunk = footer.row_group(group).column(index)
            row_bytes += _width(footer, index) * max(1.0, chunk.num_values / rows)
            if chunk.physical_type == "BYTE_ARRAY" and chunk.path_in_schema not in dictionary_paths:
                row_bytes += _text_bytes(stream, chunk, name) * max(1.0, chunk.num_values / rows)
        least = min(least, int(BATCH_BYTES / max(1.0, row_bytes)))
    return max(1, least)


def _text_bytes(stream: ByteStream, chunk: parquet.ColumnChunkMetaData, name: str) -> float:
    """Return the estimated size of a text: the average, or more where texts may share their bytes in a page."""
    average: float = chunk.total_uncompressed_size / max(1, chunk.num_values)
    if "DELTA_BYTE_ARRAY" not in chunk.encodings:
        longest = _longest(stream, chunk, name) if _has_text_entries(chunk) else 0
        return longest if longest > SHORT_BYTES else average
    largest: int = max((page.uncompressed for page in pages_of(stream, chunk, name)), default=0)
    # Estimated at an eighth: texts that share all of their bytes are rare, and small batches cost time.
    return max(average, largest / 8)


# --- headers of pages --------------------------------------------------------------------------------------------


def pages_of(stream: ByteStream, chunk: parquet.ColumnChunkMetaData, name: str) -> Iterator[Page]:
    """Yield the pages of a column in a row group, from their headers. Raises InvalidContent for an invalid header."""
    at, end = _bounds(chunk)
    while at < end:
        page, length = _page_at(stream, at, end, name)
        yield page
        at += length + page.compressed


def _bounds(chunk: parquet.ColumnChunkMetaData) -> tuple[int, int]:
    """Return the start and end of the pages of a column in a row group."""
    starts = [chunk.data_page_offset]
    if chunk.has_dictionary_page and chunk.dictionary_page_offset:
        starts.append(chunk.dictionary_page_offset)
    return min(starts), min(starts) + chunk.total_compressed_size


def _page_at(stream: ByteStream, at: int, end: int, name: str) -> tuple[Page, int]:
    for size in (256, 64 << 10, 16 << 20):
        stream.seek(at)
        header = _Compact(stream.read(min(size, end - at)))
        try:
            values = header.integers()
        except IndexError:
            continue
        page = Page(values.get(3, 0), values.get(2, 0))
        if min(page.compressed, page.uncompressed) >= 0:
            return page, header.at
        break
    raise InvalidContent(
        "source.malformed",
        f"{name} cannot be read as Parquet: a page has no header at byte {at:,}.",
        hint="The file may be truncated. Send it again.",
    )


class _Compact:
    """The part of Thrift's compact protocol that is needed to read the numbers in a page header. The rest is
    skipped."""

    def __init__(self, data: bytes) -> None:
        self._data, self.at = data, 0

    def integers(self) -> dict[int, int]:
        """Return the whole numbers among the fields of a struct, by field. Raises IndexError at the end of the data."""
        found = {}
        for field, kind in self._fields():
            if kind in (4, 5, 6):
                found[field] = self._zigzag()
            else:
                self._skip(kind)
        return found

    def _fields(self) -> Iterator[tuple[int, int]]:
        field = 0
        while head := self._byte():
            delta = head >> 4
            field = field + delta if delta else self._zigzag()
            yield field, head & 15

    def _skip(self, kind: int, depth: int = 0) -> None:
        if kind in (1, 2):
            return
        if kind == 3:
            self.at += 1
        elif kind in (4, 5, 6):
            self._varint()
        elif kind == 7:
            self.at += 8
        elif kind == 8:
            length = self._varint()
            self.at += length
        elif kind in (9, 10) and depth < _MOST_DEPTH:
            head = self._byte()
            for _ in range(head >> 4 if head >> 4 < 15 else self._varint()):
                self._skip(head & 15, depth + 1)
        elif kind == 12 and depth < _MOST_DEPTH:
            for _, inner in self._fields():
                self._skip(inner, depth + 1)
        else:
            raise IndexError("no page header holds such a field")

    def _byte(self) -> int:
        value = self._data[self.at]
        self.at += 1
        return value

    def _varint(self) -> int:
        value = shift = 0
        while True:
            byte = self._byte()
            value |= (byte & 127) << shift
            shift += 7
            if byte < 128:
                return value
            if shift > _MOST_BITS:
                raise IndexError("no number is that long")

    def _zigzag(self) -> int:
        value = self._varint()
        return (value >> 1) ^ -(value & 1)
