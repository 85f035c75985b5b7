"""Opens listed files, reads them in blocks and hashes them."""

from __future__ import annotations

import errno
import hashlib
import os
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, replace
from typing import BinaryIO, ClassVar, Protocol

from executors.errors import Terminal, Transient
from executors.formats.verified import ByteStream, Checksums, VerifiedStream
from executors.model import SourceFile, Split

BLOCK_BYTES = 2 << 20
"""The size of a read, and about the size of a batch."""

SPLIT_BYTES = 24 << 20
"""About the number of bytes that one task reads."""


class FileStore(Protocol):
    """Opens listed files. It is pickled and sent to Spark's tasks, so it contains plain data and no plain-text
    secret."""

    @property
    def waits(self) -> bool:
        """Whether opening and reading a file waits for a network."""

    def open(self, file: SourceFile) -> AbstractContextManager[BinaryIO]:
        """Open the file at its first byte, if it is the listed file, and check again after reading. The stream can
        `seek`. Metadata that the listing lacks is not compared.

        Raises Transient `source.changed` for a changed or missing file, and Terminal `source.unreadable`.
        """


@dataclass(frozen=True, slots=True)
class LocalFiles:
    """Files of a file system that this machine and Spark's machines share."""

    waits: ClassVar[bool] = False

    @contextmanager
    def open(self, file: SourceFile) -> Iterator[BinaryIO]:
        with _opened(file) as stream:
            now = _require_unchanged(stream.fileno(), file)
            yield stream
            _require_unchanged(stream.fileno(), now if file.ctime_ns else replace(now, ctime_ns=None))


LOCAL_FILES = LocalFiles()


@contextmanager
def open_verified(split: Split, store: FileStore) -> Iterator[VerifiedStream]:
    """Open the file of a split and compare every byte with the scan. Raises as `FileStore.open`."""
    file = split.file
    # The change time is ignored: a new link or other permissions change it while the bytes stay the same.
    with store.open(file.without_change_time()) as stream:
        yield VerifiedStream(stream, file.size, split.checksums, lambda: changed(file, "changed after the scan"))


@contextmanager
def _opened(file: SourceFile) -> Iterator[BinaryIO]:
    try:
        # The path was resolved when the file was listed, so a link at this path is another file.
        stream = os.fdopen(os.open(file.path, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC), "rb", buffering=0)
    except FileNotFoundError as error:
        raise changed(file, "was deleted") from error
    except OSError as error:
        if error.errno == errno.ELOOP:
            raise changed(file, "is now a link") from error
        raise Terminal(
            "source.unreadable",
            f"{file.name} cannot be read: {error.strerror}.",
            hint="Give the worker's user read permission.",
        ) from error
    with stream:
        yield stream


def _require_unchanged(descriptor: int, file: SourceFile) -> SourceFile:
    """Return the current metadata of the file."""
    now = SourceFile.found(file.seq, file.path, file.name, os.fstat(descriptor))
    if not file.is_same(now):
        raise changed(file, "changed after it was listed")
    return now


def changed(file: SourceFile, what: str) -> Transient:
    """Return the failure for a file that is not the listed one. `what` says why, such as `is gone`."""
    return Transient(
        "source.changed",
        f"{file.name} {what}.",
        hint="Write files under another name and rename them when complete, or increase settleSeconds.",
    )


def blocks_of(stream: ByteStream, start: int, end: int, block_bytes: int = BLOCK_BYTES) -> Iterator[bytes]:
    """Yield the bytes `[start, end)` in blocks."""
    stream.seek(start)
    left = end - start
    while left > 0 and (block := stream.read(min(block_bytes, left))):
        left -= len(block)
        yield block


class HashedBlocks:
    """Yields the blocks of a whole file and hashes each in another thread while the caller processes it. A block that
    is not full is probably the last one: for a small file, a thread takes longer to start than the bytes to hash.
    `checksums` and `sha256` are available after the last block."""

    def __init__(self, stream: BinaryIO, block_bytes: int = BLOCK_BYTES) -> None:
        self._stream, self._block_bytes = stream, block_bytes
        self._digest, self._checksums = hashlib.sha256(), Checksums()

    def __iter__(self) -> Iterator[bytes]:
        hasher: ThreadPoolExecutor | None = None
        try:
            while block := self._stream.read(self._block_bytes):
                self._checksums.add(block)
                if len(block) < self._block_bytes:
                    self._digest.update(block)
                    yield block
                    continue
                hasher = hasher or ThreadPoolExecutor(1)
                hashed = hasher.submit(self._digest.update, block)
                yield block
                hashed.result()
        finally:
            # Do not wait for the hasher: the garbage collector may close an abandoned iteration in a thread that holds
            # interpreter locks, and joining the thread would then deadlock.
            if hasher:
                hasher.shutdown(wait=False)

    @property
    def checksums(self) -> bytes:
        return self._checksums.finish()

    @property
    def sha256(self) -> str:
        return self._digest.hexdigest()


def sha256_of(file: SourceFile, store: FileStore) -> str:
    """Return the SHA-256 of a file's bytes. Raises as `FileStore.open`."""
    digest = hashlib.sha256()
    with store.open(file) as stream:
        for block in blocks_of(stream, 0, file.size):
            digest.update(block)
    return digest.hexdigest()
