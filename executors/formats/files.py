"""Opening files as they were listed, reading them in blocks, and their hash."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import BinaryIO

from executors.errors import Terminal, Transient
from executors.model import SourceFile

BLOCK_BYTES = 2 << 20
"""How much is read, and about how much a batch holds."""

SPLIT_BYTES = 24 << 20
"""About how much one task reads."""


@contextmanager
def open_unchanged(file: SourceFile) -> Iterator[BinaryIO]:
    """The file, open for reading, if its size and time are as listed; looked at again when the reading is done.

    Raises Transient `source.changed`, also for a file that is gone, and Terminal `source.unreadable`.
    """
    try:
        # The path was resolved when it was listed: a link there now would be another file.
        stream = os.fdopen(os.open(file.path, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC), "rb", buffering=0)
    except FileNotFoundError as error:
        raise _changed(file, "is gone") from error
    except OSError as error:
        raise Terminal(
            "source.unreadable",
            f"{file.name} cannot be read: {error.strerror}.",
            hint="Give the user that runs the worker the right to read it.",
        ) from error
    with stream:
        _require_unchanged(stream.fileno(), file)
        yield stream
        _require_unchanged(stream.fileno(), file)


def _require_unchanged(descriptor: int, file: SourceFile) -> None:
    now = os.fstat(descriptor)
    if (now.st_size, now.st_mtime_ns) != (file.size, file.mtime_ns):
        raise _changed(file, "changed after it was listed")


def _changed(file: SourceFile, what: str) -> Transient:
    return Transient(
        "source.changed",
        f"{file.name} {what}.",
        hint="Let writers finish under another name and rename, or raise settleSeconds.",
    )


def head_of(stream: BinaryIO) -> bytes:
    """The first bytes of a file, enough for a byte order mark; reading begins at its start afterwards."""
    stream.seek(0)
    head = stream.read(4)
    stream.seek(0)
    return head


def blocks_of(stream: BinaryIO, start: int, end: int, block_bytes: int = BLOCK_BYTES) -> Iterator[bytes]:
    """Bytes `[start, end)` in blocks."""
    stream.seek(start)
    left = end - start
    while left > 0 and (block := stream.read(min(block_bytes, left))):
        left -= len(block)
        yield block


class HashedBlocks:
    """Blocks of a whole file that are hashed while their taker looks at them."""

    def __init__(self, stream: BinaryIO, block_bytes: int = BLOCK_BYTES) -> None:
        self._stream, self._block_bytes = stream, block_bytes
        self._digest = hashlib.sha256()

    def __iter__(self) -> Iterator[bytes]:
        with ThreadPoolExecutor(1) as hasher:
            while block := self._stream.read(self._block_bytes):
                hashed = hasher.submit(self._digest.update, block)
                yield block
                hashed.result()

    @property
    def sha256(self) -> str:
        return self._digest.hexdigest()


def sha256_of(file: SourceFile) -> str:
    """The hash of a file's bytes as they are now. Raises FileNotFoundError."""
    with open(file.path, "rb") as content:
        return hashlib.file_digest(content, "sha256").hexdigest()
