"""Small files, whose bytes are read at once: to open a file, and each request for a part of it, takes longer than to
read its rows from memory."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import partial
from io import BytesIO
from itertools import groupby
from typing import ClassVar

from executors.formats.ahead import read_ahead
from executors.formats.copies import read_copy
from executors.formats.files import FileStore, changed
from executors.model import SourceFile, Split

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


def read_scanned(splits: Iterable[Split], store: FileStore) -> Iterator[InMemory]:
    """Read the whole files of splits, in order: from the copies of the scan, the others as `read_each`."""
    with_copies = ((split, read_copy(split)) for split in splits)
    for is_copied, some in groupby(with_copies, key=lambda found: found[1] is not None):
        if is_copied:
            yield from (InMemory(data) for _, data in some if data is not None)
        else:
            # The change time is ignored, as in `open_verified`.
            yield from read_each((split.file.without_change_time() for split, _ in some), store)


def _read_whole(file: SourceFile, store: FileStore) -> InMemory:
    with store.open(file) as stream:
        data = stream.read(file.size)
    if len(data) != file.size:
        raise changed(file, "changed while it was read")
    return InMemory(data)
