"""The container of Avro files: its header, and blocks of records that are decompressed with bounded output."""

from __future__ import annotations

import bz2
import json
import lzma
import zlib
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import pyarrow as pa
from backports import zstd

from executors.errors import InvalidContent
from executors.formats.limits import expands_too_much

MAGIC = b"Obj\x01"
MOST_HEADER_BYTES = 4 << 20
MOST_BLOCK_BYTES = 64 << 20
MOST_EMPTY_RECORDS = 1_000_000
"""The maximum number of records in a block whose records take no bytes."""

_SYNC_BYTES, _MOST_SHIFT = 16, 63


@dataclass(frozen=True, slots=True)
class Header:
    """The schema of a file as JSON, its codec and the marker between its blocks. `size` is the offset of the first
    block."""

    schema: Any
    codec: str
    sync: bytes
    size: int


@dataclass(frozen=True, slots=True)
class Block:
    """A block of records: its offset, their number, and the size of their compressed data."""

    offset: int
    records: int
    size: int


class _Ended(Exception):
    """The file ends within a value."""


class Bytes:
    """Reads values from blocks of bytes in order. `at` is the offset of the next byte."""

    def __init__(self, blocks: Iterable[bytes], at: int = 0) -> None:
        self._blocks, self._held, self._from, self.at = iter(blocks), b"", 0, at

    def read(self, size: int) -> bytes:
        """Return exactly `size` bytes. Raises _Ended."""
        parts = []
        for part in self._parts(size):
            parts.append(part)
        return parts[0] if len(parts) == 1 else b"".join(parts)

    def skip(self, size: int) -> None:
        for _ in self._parts(size):
            pass

    def _parts(self, size: int) -> Iterator[bytes]:
        while size:
            if self._from == len(self._held) and not self._fill():
                raise _Ended
            part = self._held[self._from : self._from + size]
            self._from += len(part)
            self.at += len(part)
            size -= len(part)
            yield part

    def _fill(self) -> bool:
        self._held, self._from = next(self._blocks, b""), 0
        return bool(self._held)

    def is_at_end(self) -> bool:
        return self._from == len(self._held) and not self._fill()

    def long(self) -> int:
        value = shift = 0
        while True:
            byte = self.read(1)[0]
            value |= (byte & 127) << shift
            shift += 7
            if byte < 128:
                return (value >> 1) ^ -(value & 1)
            if shift > _MOST_SHIFT:
                raise ValueError("a number is longer than 64 bits")


def read_header(data: Bytes, name: str) -> Header:
    """Read the header at the start of a file. Raises InvalidContent."""
    try:
        if data.read(len(MAGIC)) != MAGIC:
            raise malformed(name, "it does not begin as Avro files do")
        values = _read_map(data, name)
        schema, codec = json.loads(values.get("avro.schema", b"")), values.get("avro.codec", b"null").decode()
        sync = data.read(_SYNC_BYTES)
    except _Ended as error:
        raise malformed(name, "it ends within its header") from error
    except (ValueError, RecursionError) as error:
        raise malformed(name, "its header cannot be read") from error
    if codec not in _CODECS:
        raise InvalidContent(
            "source.type_unsupported",
            f"{name} is compressed with {codec!r}, which Flow cannot read.",
            hint=f"Write it with one of the codecs {', '.join(_CODECS)}.",
        )
    return Header(schema, codec, sync, data.at)


def _read_map(data: Bytes, name: str) -> dict[str, bytes]:
    values = {}
    while count := data.long():
        if count < 0:
            count = -count
            data.long()
        for _ in range(count):
            key, value = (data.read(_bounded(data.long(), data, name)) for _ in range(2))
            values[key.decode()] = value
    return values


def _bounded(size: int, data: Bytes, name: str) -> int:
    if not 0 <= size <= MOST_HEADER_BYTES - data.at:
        raise malformed(name, f"its header is longer than {MOST_HEADER_BYTES >> 20} MB")
    return size


def list_blocks(data: Bytes, header: Header, name: str) -> Iterator[Block]:
    """Yield the blocks that hold records, from after the header to the end of the file. Raises InvalidContent."""
    for block in _heads(data, header, name):
        if block.records:
            yield block
        data.skip(block.size)


def read_blocks(data: Bytes, header: Header, name: str, most_bytes: int) -> Iterator[tuple[int, bytes]]:
    """Yield the number of records and the decompressed data of each block. Raises InvalidContent, also for a block
    that expands to more than `most_bytes`."""
    for block in _heads(data, header, name):
        if block.size > most_bytes:
            raise _too_large(name, most_bytes)
        stored = data.read(block.size)
        try:
            plain = _CODECS[header.codec](stored, most_bytes)
        except _FAILURES as error:
            raise malformed(name, f"the block at byte {block.offset:,} is damaged") from error
        if len(plain) > most_bytes:
            raise _too_large(name, most_bytes)
        if block.records > max(len(plain), MOST_EMPTY_RECORDS):
            raise malformed(name, f"the block at byte {block.offset:,} is too short for its records")
        yield block.records, plain


def _heads(data: Bytes, header: Header, name: str) -> Iterator[Block]:
    """Yield the heads of the blocks. The caller reads or skips the data of each."""
    try:
        while not data.is_at_end():
            offset = data.at
            records, size = data.long(), data.long()
            if records < 0 or size < 0:
                raise malformed(name, f"the block at byte {offset:,} has no valid size")
            yield Block(offset, records, size)
            if data.read(_SYNC_BYTES) != header.sync:
                raise malformed(name, f"the block at byte {offset:,} does not end with the file's marker")
    except _Ended as error:
        raise malformed(name, "it is truncated") from error
    except ValueError as error:
        raise malformed(name, str(error)) from error


def _too_large(name: str, most_bytes: int) -> InvalidContent:
    return expands_too_much(name, f"a block of records takes more than {most_bytes >> 20:,} MB")


def malformed(name: str, why: str) -> InvalidContent:
    return InvalidContent(
        "source.malformed", f"{name} cannot be read as Avro: {why}.", hint="The file may be truncated. Send it again."
    )


# --- codecs: each returns at most one byte more than `most` --------------------------------------------------------


def _bounded_output(start: Callable[[], Any]) -> Callable[[bytes, int], bytes]:
    def decompress(data: bytes, most: int) -> bytes:
        decompressor = start()
        plain: bytes = decompressor.decompress(data, most + 1)
        if len(plain) <= most and not decompressor.eof:
            raise EOFError("the data is truncated")
        return plain

    return decompress


def _snappy(data: bytes, most: int) -> bytes:
    """Decompress a block of Snappy, which is followed by the checksum of its content."""
    size = shift = at = 0
    while True:
        size |= (data[at] & 127) << shift
        shift, at = shift + 7, at + 1
        if data[at - 1] < 128:
            break
    if size > most:
        return bytes(most + 1)
    plain: bytes = pa.decompress(data[:-4], size, codec="snappy", asbytes=True)
    if zlib.crc32(plain).to_bytes(4, "big") != data[-4:]:
        raise ValueError("the checksum differs")
    return plain


_CODECS: dict[str, Callable[[bytes, int], bytes]] = {
    "null": lambda data, most: data,
    "deflate": _bounded_output(lambda: zlib.decompressobj(-zlib.MAX_WBITS)),
    "snappy": _snappy,
    "zstandard": _bounded_output(zstd.ZstdDecompressor),
    "bzip2": _bounded_output(bz2.BZ2Decompressor),
    "xz": _bounded_output(lambda: lzma.LZMADecompressor(memlimit=2 * MOST_BLOCK_BYTES)),
}
_FAILURES = (zlib.error, zstd.ZstdError, lzma.LZMAError, pa.ArrowException, OSError, EOFError, ValueError, IndexError)
