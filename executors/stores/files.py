"""Opens files of a store for readers, in this process and in Spark's tasks."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import BinaryIO, ClassVar, cast

from executors.formats.files import changed
from executors.formats.seekable import Seekable
from executors.formats.small_files import is_small
from executors.model import SourceFile
from executors.stores import open_encrypted
from executors.stores.base import Store

FIRST_WINDOW_BYTES, GROWTH, WINDOW_BYTES = 64 << 10, 4, 8 << 20
"""The number of bytes that a request for a smaller part reads: the first one after a jump, and at most. Each request
for the bytes that follow reads more, because further ones are usually next."""


@dataclass(frozen=True, slots=True)
class StoreFiles:
    """Files of the store of an encrypted connection. Each process makes its own client."""

    encrypted: str
    waits: ClassVar[bool] = True

    @contextmanager
    def open(self, file: SourceFile) -> Iterator[BinaryIO]:
        store = open_encrypted(self.encrypted)
        is_known = bool(store.compares_versions and file.version and file.size)
        with RangeStream(store, file if is_known else _found(store, file)) as stream:
            if is_known:
                # One request fewer: the first part also shows whether the file is the listed one. A small file is read
                # completely, because its readers need all of it.
                stream.read(file.size if is_small(file) else 1)
                stream.seek(0)
            yield cast(BinaryIO, stream)


def _found(store: Store, file: SourceFile) -> SourceFile:
    """Return the file as it is now. A listing may lack the version; the one found now then applies to all parts. Raises
    Transient `source.changed`."""
    now = store.stat(file.path)
    if now is None:
        raise changed(file, "was deleted")
    if not file.is_same(now.as_file(file.name)):
        raise changed(file, "changed after it was listed")
    return now.as_file(file.name)


class RangeStream(Seekable):
    """A seekable stream that reads parts of a file of a store, and no more than one window ahead."""

    def __init__(self, store: Store, file: SourceFile) -> None:
        super().__init__(file.size)
        self._store, self._file = store, file
        self._start, self._window = 0, b""
        self._ahead = FIRST_WINDOW_BYTES

    def read(self, size: int | None = -1, /) -> bytes:
        end = self.end_of(size)
        parts = []
        while self.at < end:
            if not self._start <= self.at < self._start + len(self._window):
                self._load(end - self.at)
            offset = self.at - self._start
            part = self._window[offset : offset + end - self.at]
            parts.append(part)
            self.at += len(part)
        return parts[0] if len(parts) == 1 else b"".join(parts)

    def _load(self, needed: int) -> None:
        follows = self._window and self.at == self._start + len(self._window)
        self._ahead = min(self._ahead * GROWTH, WINDOW_BYTES) if follows else FIRST_WINDOW_BYTES
        size = min(max(needed, self._ahead), self._file.size - self.at)
        self._window = b""
        self._start, self._window = self.at, self._store.read(self._file, self.at, size)
