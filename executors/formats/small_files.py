"""Small files, whose bytes are read at once: to open a file, and each request for a part of it, takes longer than to
read its rows from memory."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import partial
from io import BytesIO
from typing import ClassVar

from executors.formats.ahead import read_ahead
from executors.formats.files import FileStore, changed
from executors.model import SourceFile

SMALL_BYTES = 1 << 20


@dataclass(frozen=True, slots=True)
class InMemory:
    """A store of one file, whose bytes are in memory."""

    waits: ClassVar[bool] = False

    data: bytes

    def open(self, file: SourceFile) -> BytesIO:
        return BytesIO(self.data)


def is_small(file: SourceFile) -> bool:
    return file.size <= SMALL_BYTES


def read_each(files: Iterable[SourceFile], store: FileStore) -> Iterator[InMemory]:
    """Read whole files, in order; those of a store over a network several at a time. Raises as `FileStore.open`."""
    read = partial(_read_whole, store=store)
    return read_ahead(read, files) if store.waits else map(read, files)


def _read_whole(file: SourceFile, store: FileStore) -> InMemory:
    with store.open(file) as stream:
        data = stream.read(file.size)
    if len(data) != file.size:
        raise changed(file, "changed while it was read")
    return InMemory(data)
