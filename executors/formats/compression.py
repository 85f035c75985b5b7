"""Decompresses text files that are compressed as a whole: gzip, bzip2 and Zstandard, recognized by their first bytes.

The output is bounded at each step, and its size is compared with the size of the file. Every checksum of the archive is
verified; a truncated archive, and bytes that follow it, are refused.
"""

from __future__ import annotations

import bz2
import re
import zlib
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from backports import zstd

from executors.errors import InvalidContent
from executors.formats.files import BLOCK_BYTES, blocks_of
from executors.formats.limits import FREE_BYTES, MOST_EXPANDED_BYTES, MOST_RATIO
from executors.formats.verified import ByteStream
from executors.model import SourceFile

_HEAD_BYTES = 10
_SEND_HINT = "Send the file again. Nothing was loaded from it."
_UNPACK_HINT = "Compress the file once, or unpack it."
_FAILURES = (zlib.error, zstd.ZstdError, OSError, EOFError)


class _Gzip:
    """The decompressor of one gzip member, with the interface of `bz2.BZ2Decompressor`."""

    def __init__(self) -> None:
        self._inner = zlib.decompressobj(zlib.MAX_WBITS | 16)

    def decompress(self, data: bytes, max_length: int) -> bytes:
        return self._inner.decompress(self._inner.unconsumed_tail + data, max_length)

    @property
    def eof(self) -> bool:
        return self._inner.eof

    @property
    def needs_input(self) -> bool:
        return not self._inner.eof and not self._inner.unconsumed_tail

    @property
    def unused_data(self) -> bytes:
        return self._inner.unused_data


@dataclass(frozen=True, slots=True)
class Compression:
    """A kind of compression: the first bytes of its files, its usual name and its decompressor. A file consists of one
    or more members; `padding` are bytes that may follow the last one."""

    head: re.Pattern[bytes]
    name: str
    start: Callable[[], Any]
    padding: bytes = b""


_COMPRESSIONS = (
    Compression(re.compile(rb"\x1f\x8b\x08"), "gzip", _Gzip, padding=b"\0"),
    Compression(re.compile(rb"BZh[1-9](?:1AY&SY|\x17rE8P\x90)"), "bzip2", bz2.BZ2Decompressor),
    # A file may begin with a skippable frame.
    Compression(re.compile(rb"\x28\xb5\x2f\xfd|[\x50-\x5f]\x2a\x4d\x18"), "Zstandard", zstd.ZstdDecompressor),
)


def compression_of(head: bytes) -> Compression | None:
    """Return the compression of a file with these first bytes, None for other files."""
    return next((known for known in _COMPRESSIONS if known.head.match(head)), None)


@dataclass(frozen=True, slots=True)
class TextContent:
    """The text of an open file, which may be compressed. `name` and `size` are those of the stored file. `has_ranges`
    says whether a part of the text can be read without what comes before it."""

    stream: ByteStream
    name: str
    size: int
    compression: Compression | None
    has_ranges: bool

    @classmethod
    def of(cls, stream: ByteStream, file: SourceFile) -> TextContent:
        stream.seek(0)
        found = compression_of(stream.read(_HEAD_BYTES))
        stream.seek(0)
        return cls(stream, file.name, file.size, found, found is None and file.member is None)

    def expand(self, stored: Iterable[bytes]) -> Iterator[bytes]:
        """Return the text in all blocks of the stored file. Raises InvalidContent for a damaged archive and for one
        that expands too much."""
        return expand(stored, self.compression, self.name) if self.compression else iter(stored)

    def blocks(self, block_bytes: int = BLOCK_BYTES) -> Iterator[bytes]:
        """Return the text from its start in blocks. Raises as `expand`."""
        return self.expand(blocks_of(self.stream, 0, self.size, block_bytes))

    def first_blocks(self, most: int) -> Iterator[bytes]:
        """Return the first bytes of the text, at most `most`, in blocks. Raises as `expand`."""
        left = most
        for block in self.blocks(min(BLOCK_BYTES, max(1, most))):
            yield block[:left]
            left -= len(block)
            if left <= 0:
                return

    def head(self, most: int) -> bytes:
        """Return the first bytes of the text. Raises as `expand`."""
        return b"".join(self.first_blocks(most))


def expand(stored: Iterable[bytes], compression: Compression, name: str) -> Iterator[bytes]:
    """Decompress the blocks of a whole file. Raises InvalidContent `source.malformed` for a damaged archive and
    `source.expands_too_much`."""
    read = written = members = 0
    member: Any = None
    for block in stored:
        read += len(block)
        pending = block
        while pending or (member and not member.needs_input):
            if member is None:
                pending = pending.lstrip(compression.padding) if members else pending
                if not pending:
                    break
                member, members = compression.start(), members + 1
            try:
                text = member.decompress(pending, BLOCK_BYTES)
            except _FAILURES as error:
                raise _damaged(name, compression, str(error)) from error
            pending = b""
            if not written and compression_of(text):
                raise _damaged(name, compression, "its content is compressed once more", _UNPACK_HINT)
            written += len(text)
            _refuse_expansion(name, read, written)
            if text:
                yield text
            if member.eof:
                pending, member = member.unused_data, None
    if member is not None:
        raise _damaged(name, compression, "it is truncated")


def expanded_head(head: bytes, most: int, name: str, *, is_whole: bool) -> tuple[bytes, bool]:
    """Return the first bytes of the text in the head of a stored file, and whether they are the whole text. A head that
    is not compressed is returned as it is. Raises as `expand`, except for a head that ends within the archive."""
    compression = compression_of(head)
    if compression is None:
        return head, is_whole
    text, size = [], 0
    try:
        for block in expand((head[at : at + 4096] for at in range(0, len(head), 4096)), compression, name):
            text.append(block)
            size += len(block)
            if size > most:
                break
    except InvalidContent:
        if is_whole or not size:
            raise
    return b"".join(text)[:most], is_whole and size <= most


def _refuse_expansion(name: str, read: int, written: int) -> None:
    if written <= FREE_BYTES or (written <= MOST_RATIO * read and written <= MOST_EXPANDED_BYTES):
        return
    what = f"{written >> 20:,} MB come from its first {read / (1 << 20):,.1f} MB"
    if written > MOST_EXPANDED_BYTES:
        what = f"it holds more than {MOST_EXPANDED_BYTES >> 30:,} GB"
    raise InvalidContent(
        "source.expands_too_much",
        f"{name} expands too much: {what}.",
        hint=f"Unpack the file, or split it. Compressed files may hold {MOST_EXPANDED_BYTES >> 30} GB, and above "
        f"{FREE_BYTES >> 30} GB at most {MOST_RATIO} times their size.",
    )


def _damaged(name: str, compression: Compression, why: str, hint: str = _SEND_HINT) -> InvalidContent:
    return InvalidContent("source.malformed", f"{name} cannot be unpacked with {compression.name}: {why}.", hint=hint)
