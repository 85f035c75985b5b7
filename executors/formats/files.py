"""Opening files as they were listed, reading them in blocks, and their hash."""

from __future__ import annotations

import errno
import hashlib
import os
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import replace
from typing import BinaryIO

from executors.errors import Terminal, Transient
from executors.formats.verified import ByteStream, Checksums, VerifiedStream
from executors.model import SourceFile, Split

BLOCK_BYTES = 2 << 20
"""How much is read, and about how much a batch holds."""

SPLIT_BYTES = 24 << 20
"""About how much one task reads."""


@contextmanager
def open_unchanged(file: SourceFile) -> Iterator[BinaryIO]:
    """The file, open for reading, if it is the one that was listed; looked at again when the reading is done.

    Raises Transient `source.changed`, also for a file that is gone, and Terminal `source.unreadable`.
    """
    with _opened(file) as stream:
        before = _require_unchanged(stream.fileno(), file)
        yield stream
        _require_unchanged(stream.fileno(), before)


@contextmanager
def open_verified(split: Split) -> Iterator[VerifiedStream]:
    """The file of a split, open for reading, with every byte compared with what was scanned. Raises as
    `open_unchanged`."""
    file = split.file
    # Its change time may move while its bytes stay: a link or other permissions are no reason to read it again.
    listed = replace(file, ctime_ns=None)
    with _opened(file) as stream:
        _require_unchanged(stream.fileno(), listed)
        verified = VerifiedStream(stream, file.size, split.checksums, lambda: _changed(file, "changed after the scan"))
        yield verified
        _require_unchanged(stream.fileno(), listed)


@contextmanager
def _opened(file: SourceFile) -> Iterator[BinaryIO]:
    try:
        # The path was resolved when it was listed: a link there now would be another file.
        stream = os.fdopen(os.open(file.path, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC), "rb", buffering=0)
    except FileNotFoundError as error:
        raise _changed(file, "is gone") from error
    except OSError as error:
        if error.errno == errno.ELOOP:
            raise _changed(file, "is a link now") from error
        raise Terminal(
            "source.unreadable",
            f"{file.name} cannot be read: {error.strerror}.",
            hint="Give the user that runs the worker the right to read it.",
        ) from error
    with stream:
        yield stream


def _require_unchanged(descriptor: int, file: SourceFile) -> SourceFile:
    """The file as it is now."""
    now = SourceFile.found(file.seq, file.path, file.name, os.fstat(descriptor))
    if not file.is_same(now):
        raise _changed(file, "changed after it was listed")
    return now


def _changed(file: SourceFile, what: str) -> Transient:
    return Transient(
        "source.changed",
        f"{file.name} {what}.",
        hint="Let writers finish under another name and rename, or raise settleSeconds.",
    )


def first_bytes(file: SourceFile, most: int) -> bytes:
    """As many bytes as there are, up to `most`. Raises as `open_unchanged`."""
    with open_unchanged(file) as stream:
        return b"".join(blocks_of(stream, 0, most))


def head_of(stream: ByteStream) -> bytes:
    """The first bytes of a file, enough for a byte order mark; reading begins at its start afterwards."""
    stream.seek(0)
    head = stream.read(4)
    stream.seek(0)
    return head


def blocks_of(stream: ByteStream, start: int, end: int, block_bytes: int = BLOCK_BYTES) -> Iterator[bytes]:
    """Bytes `[start, end)` in blocks."""
    stream.seek(start)
    left = end - start
    while left > 0 and (block := stream.read(min(block_bytes, left))):
        left -= len(block)
        yield block


class HashedBlocks:
    """Blocks of a whole file that are hashed while their taker looks at them; `checksums` once all were taken."""

    def __init__(self, stream: BinaryIO, block_bytes: int = BLOCK_BYTES) -> None:
        self._stream, self._block_bytes = stream, block_bytes
        self._digest, self._checksums = hashlib.sha256(), Checksums()

    def __iter__(self) -> Iterator[bytes]:
        with ThreadPoolExecutor(1) as hasher:
            while block := self._stream.read(self._block_bytes):
                hashed = hasher.submit(self._digest.update, block)
                self._checksums.add(block)
                yield block
                hashed.result()

    @property
    def checksums(self) -> bytes:
        return self._checksums.finish()

    @property
    def sha256(self) -> str:
        return self._digest.hexdigest()


def sha256_of(file: SourceFile) -> str:
    """The hash of a file's bytes as they are now. Raises FileNotFoundError."""
    with open(file.path, "rb") as content:
        return hashlib.file_digest(content, "sha256").hexdigest()
