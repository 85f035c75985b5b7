"""Reads a scanned file again and compares every byte with the checksums of the scan.

Size and time stamps cannot show that a file was replaced; checksums of its bytes can.
"""

from __future__ import annotations

import zlib
from collections.abc import Callable
from typing import BinaryIO, Protocol

from executors.formats.seekable import Seekable

CHECKED_BYTES = 1 << 20
"""The number of bytes that one checksum covers."""

_WIDTH = 4


class ByteStream(Protocol):
    """The methods that readers of files need."""

    def read(self, size: int = -1, /) -> bytes: ...

    def seek(self, offset: int, whence: int = 0, /) -> int: ...


class Checksums:
    """Computes the checksums of a file from its blocks of any size."""

    def __init__(self) -> None:
        self._done = bytearray()
        self._sum, self._filled = 0, 0

    def add(self, block: bytes) -> None:
        view = memoryview(block)
        while view:
            part = view[: CHECKED_BYTES - self._filled]
            self._sum = zlib.crc32(part, self._sum)
            self._filled += len(part)
            view = view[len(part) :]
            if self._filled == CHECKED_BYTES:
                self._close()

    def _close(self) -> None:
        self._done += self._sum.to_bytes(_WIDTH, "big")
        self._sum, self._filled = 0, 0

    def finish(self) -> bytes:
        if self._filled:
            self._close()
        return bytes(self._done)


def has_checksums(data: bytes, known: bytes) -> bool:
    """Return whether the bytes of a whole file have these checksums."""
    checksums = Checksums()
    checksums.add(data)
    return checksums.finish() == known


class VerifiedStream(Seekable):
    """A file of which each part is compared with its checksum before it is returned, unless the checksums are unknown.
    `changed` returns the failure for a part that differs."""

    def __init__(self, stream: BinaryIO, size: int, checksums: bytes | None, changed: Callable[[], Exception]) -> None:
        super().__init__(size)
        self._stream, self._checksums, self._changed = stream, checksums, changed
        self._held, self._part = -1, memoryview(b"")
        self.failure: Exception | None = None

    def read(self, size: int | None = -1, /) -> bytes:
        end = self.end_of(size)
        parts = []
        while self.at < end:
            number, offset = divmod(self.at, CHECKED_BYTES)
            part = self._load(number)[offset : offset + end - self.at]
            parts.append(part)
            self.at += len(part)
        return b"".join(parts)

    def _load(self, number: int) -> memoryview:
        """Return one part of the file; the last part is cached."""
        if number != self._held:
            start = number * CHECKED_BYTES
            length = min(CHECKED_BYTES, self.size - start)
            self._stream.seek(start)
            data = self._stream.read(length)
            if len(data) != length or not self._is_as_known(number, data):
                # Also stored, because a library that reads through this stream may replace it by an error of its own.
                self.failure = self._changed()
                raise self.failure
            self._held, self._part = number, memoryview(data)
        return self._part

    def _is_as_known(self, number: int, data: bytes) -> bool:
        if self._checksums is None:
            return True
        known = self._checksums[number * _WIDTH : (number + 1) * _WIDTH]
        return zlib.crc32(data).to_bytes(_WIDTH, "big") == known
