"""Reads from the footer of an ORC file how much its columns hold, so that batches are bounded before any
value is decoded.

ORC files describe themselves in Protocol Buffers, of which only the needed fields are read.
"""

from __future__ import annotations

import zlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import zip_longest

import pyarrow as pa
from backports import zstd

from executors.errors import InvalidContent
from executors.formats.limits import expands_too_much
from executors.formats.verified import ByteStream

MOST_FOOTER_BYTES = 64 << 20
MOST_CHUNK_BYTES = 64 << 20
_TAIL = 256
_SUMS = (4, 8)
"""The fields of the statistics of texts and bytes; both hold the sum of the lengths in field 3, or 1 for bytes."""
_TIMESTAMPS, _TIMESTAMP_FIELD = (9, 18), 9
_MOST_MILLIS = 9_214_646_400_000
"""From 1970 to the end of 2261, in milliseconds."""
_WRITER, _CALENDAR = 9, 11
_JULIAN, _DATE, _DATE_FIELD = 1, 15, 7
_FIRST_GREGORIAN_DAY = -141_427
"""15 October 1582, in days since 1970."""
_UNKNOWN: dict[int, list[int | bytes]] = {1: [1]}
"""The statistics of a column with one value, whose range is unknown."""
_TEXT_SUM, _BYTES_SUM, _VALUE_BYTES = 3, 1, 16


@dataclass(frozen=True, slots=True)
class Footer:
    """`rows` of the whole file; `bytes` that all values take in memory, by the statistics of the file, None if it has
    none. `is_by_java` says whether the Java library wrote the file."""

    rows: int
    bytes: int | None
    is_by_java: bool


def read_footer(stream: ByteStream, size: int, name: str) -> Footer:
    """Read the footer of a file. Raises InvalidContent for one that is damaged or not bounded."""
    start = max(0, size - _TAIL)
    stream.seek(start)
    tail = stream.read(size - start)
    try:
        length = tail[-1]
        postscript = _fields(tail[-1 - length : -1])
        footer_bytes, codec, chunk = (int(postscript.get(number, [0])[-1]) for number in (1, 2, 3))
        _refuse_large(name, footer_bytes, chunk, size)
        end = size - 1 - length
        stream.seek(end - footer_bytes)
        footer = _fields(_unpacked(stream.read(footer_bytes), codec, chunk, name))
        statistics = [_fields(_message(one)) for one in footer.get(7, [])]
        types = [_fields(_message(one)) for one in footer.get(4, [])]
        _refuse_far_times(types, statistics, name)
        if _is_julian(footer):
            _refuse_julian_dates(types, statistics, name)
        return Footer(
            rows=int(footer.get(6, [0])[-1]),
            bytes=_bytes_of(statistics),
            is_by_java=not footer.get(_WRITER, [0])[-1],
        )
    except _FAILURES as error:
        raise malformed(name, "its footer is damaged") from error


def malformed(name: str, why: str) -> InvalidContent:
    return InvalidContent(
        "source.malformed", f"{name} cannot be read as ORC: {why}.", hint="The file may be truncated. Send it again."
    )


def _refuse_large(name: str, footer_bytes: int, chunk: int, size: int) -> None:
    if not 0 < footer_bytes < size:
        raise ValueError("the footer has no valid size")
    if footer_bytes > MOST_FOOTER_BYTES:
        raise expands_too_much(name, f"its footer holds {footer_bytes >> 20:,} MB")
    if chunk > MOST_CHUNK_BYTES:
        raise expands_too_much(name, f"it is compressed in parts of {chunk >> 20:,} MB")


def _bytes_of(statistics: list[dict[int, list[int | bytes]]]) -> int | None:
    if not statistics:
        return None
    total = 0
    for column in statistics:
        total += int(column.get(1, [0])[-1]) * _VALUE_BYTES
        for field in _SUMS:
            if field in column:
                sums = _fields(_message(column[field][-1]))
                value = int(sums.get(_TEXT_SUM if field == _SUMS[0] else _BYTES_SUM, [0])[-1])
                total += _zigzag(value)
    return total


def _refuse_far_times(
    types: list[dict[int, list[int | bytes]]], statistics: list[dict[int, list[int | bytes]]], name: str
) -> None:
    """Refuse timestamps before 1678 and after 2261: the library that reads them counts nanoseconds in 64 bits, and
    returns other timestamps for these without an error."""
    # A column without statistics is checked as one whose range is unknown.
    for kind, column in zip_longest(types, statistics, fillvalue=_UNKNOWN):
        if int(kind.get(1, [0])[-1]) not in _TIMESTAMPS or not int(column.get(1, [0])[-1]):
            continue
        bounds = _fields(_message(column[_TIMESTAMP_FIELD][-1])) if _TIMESTAMP_FIELD in column else {}
        values = [
            (int(value[-1]) >> 1) ^ -(int(value[-1]) & 1) for field, value in bounds.items() if field in range(1, 5)
        ]
        if not values or max(map(abs, values)) > _MOST_MILLIS:
            why = "timestamps before 1678 or after 2261" if values else "timestamps without statistics of their range"
            raise InvalidContent(
                "source.type_unsupported",
                f"{name} holds {why}, which Flow cannot read exactly from ORC.",
                hint="Write the timestamps as text, or the file as Parquet.",
            )


def _is_julian(footer: dict[int, list[int | bytes]]) -> bool:
    """Return whether dates before 15 October 1582 count in the Julian calendar: the file says so, or it was written by
    Java before files said it."""
    calendar, writer = (footer.get(field, [0])[-1] for field in (_CALENDAR, _WRITER))
    return calendar == _JULIAN or not (calendar or writer)


def _refuse_julian_dates(
    types: list[dict[int, list[int | bytes]]], statistics: list[dict[int, list[int | bytes]]], name: str
) -> None:
    """The library that reads dates ignores the calendar, and returns other days for these."""
    for kind, column in zip_longest(types, statistics, fillvalue=_UNKNOWN):
        if int(kind.get(1, [0])[-1]) != _DATE or not int(column.get(1, [0])[-1]):
            continue
        bounds = _fields(_message(column[_DATE_FIELD][-1])) if _DATE_FIELD in column else {}
        if 1 not in bounds or _zigzag(int(bounds[1][-1])) < _FIRST_GREGORIAN_DAY:
            raise InvalidContent(
                "source.type_unsupported",
                f"{name} counts days in the Julian calendar, and "
                f"{'holds dates before 15 October 1582' if 1 in bounds else 'has no statistics of its dates'}, "
                "which Flow cannot read exactly from ORC.",
                hint="Write the dates as text, or the file as Parquet.",
            )


# --- Protocol Buffers --------------------------------------------------------------------------------------------


def _fields(data: bytes) -> dict[int, list[int | bytes]]:
    """Return the values of a message by field: numbers, and the bytes of texts and messages."""
    found: dict[int, list[int | bytes]] = {}
    for field, value in _values(data):
        found.setdefault(field, []).append(value)
    return found


def _values(data: bytes) -> Iterator[tuple[int, int | bytes]]:
    at = 0
    while at < len(data):
        tag, at = _number(data, at)
        kind = tag & 7
        if kind == 0:
            value, at = _number(data, at)
            yield tag >> 3, value
        elif kind in (1, 5):
            at += 8 if kind == 1 else 4
        elif kind == 2:
            length, at = _number(data, at)
            if at + length > len(data):
                raise ValueError("a value ends after its message")
            yield tag >> 3, data[at : at + length]
            at += length
        else:
            raise ValueError("an unknown kind of value")


def _number(data: bytes, at: int) -> tuple[int, int]:
    value = shift = 0
    while True:
        byte = data[at]
        value |= (byte & 127) << shift
        at, shift = at + 1, shift + 7
        if byte < 128:
            return value, at
        if shift > 63:
            raise ValueError("a number is longer than 64 bits")


def _zigzag(value: int) -> int:
    return (value >> 1) ^ -(value & 1)


def _message(value: int | bytes) -> bytes:
    if isinstance(value, int):
        raise ValueError("a number in the place of a message")
    return value


# --- compression -------------------------------------------------------------------------------------------------


def _deflate(data: bytes, most: int) -> bytes:
    return zlib.decompressobj(-zlib.MAX_WBITS).decompress(data, most)


def _snappy(data: bytes, most: int) -> bytes:
    size, _ = _number(data, 0)
    if size > most:
        raise ValueError("a part is larger than the file says")
    plain: bytes = pa.decompress(data, size, codec="snappy", asbytes=True)
    return plain


_CODECS: dict[int, Callable[[bytes, int], bytes]] = {
    1: _deflate,
    2: _snappy,
    5: lambda data, most: zstd.ZstdDecompressor().decompress(data, most),
}
_FAILURES = (zlib.error, zstd.ZstdError, pa.ArrowException, OSError, ValueError, IndexError)


def _unpacked(data: bytes, codec: int, chunk: int, name: str) -> bytes:
    if codec == 0:
        return data
    if codec not in _CODECS:
        raise InvalidContent(
            "source.type_unsupported",
            f"{name} is compressed with LZO or LZ4, which Flow cannot read.",
            hint="Write it with zlib, snappy or zstd.",
        )
    parts, at, held = [], 0, 0
    while at < len(data):
        head = int.from_bytes(data[at : at + 3], "little")
        stored = data[at + 3 : at + 3 + (head >> 1)]
        part = stored if head & 1 else _CODECS[codec](stored, chunk)
        parts.append(part)
        held += len(part)
        if held > MOST_FOOTER_BYTES:
            raise expands_too_much(name, f"its footer holds more than {MOST_FOOTER_BYTES >> 20} MB")
        at += 3 + (head >> 1)
    return b"".join(parts)
