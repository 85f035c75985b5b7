"""Copies of small files of a store, from which a run reads rows after the scan has hashed the files: one request for
each file instead of two.

A scan task writes the bytes that it has read into one file, in a folder of the run. Spark's machines share the folder;
where they do not, or the disk is full, there is no copy, and the file is requested again. A copy has the bytes that
were hashed, even if the file has been replaced since: its checksums are compared.
"""

from __future__ import annotations

import os
import uuid
from contextlib import AbstractContextManager, suppress
from pathlib import Path
from types import TracebackType
from typing import BinaryIO, Self

from executors.formats.verified import has_checksums
from executors.model import FileCopy, Split

COPIED_BYTES = 16 << 20
"""The number of bytes that one task copies at most."""


class CopyWriter(AbstractContextManager["CopyWriter"]):
    """Writes copies into a new file of a folder, as long as that is possible. Without a folder it writes none."""

    def __init__(self, folder: str | None) -> None:
        self._path = os.path.join(folder, uuid.uuid4().hex) if folder else ""
        self._file: BinaryIO | None = None
        self._size = 0

    def __enter__(self) -> Self:
        if self._path:
            with suppress(OSError):
                self._file = open(self._path, "xb", buffering=0)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._file is not None:
            self._file.close()

    def add(self, data: bytes) -> FileCopy | None:
        """Return the place of the copy; None if there is none."""
        if self._file is None or self._size + len(data) > COPIED_BYTES:
            return None
        with suppress(OSError):
            if self._file.write(data) == len(data):
                copy = FileCopy(self._path, self._size)
                self._size += len(data)
                return copy
        self._file.close()
        self._file = None
        return None


def read_copy(split: Split) -> bytes | None:
    """Return the bytes of the file of a split from its copy; None if there is none with the same checksums."""
    if split.copy is None or not split.checksums:
        return None
    try:
        with Path(split.copy.path).open("rb", buffering=0) as file:
            file.seek(split.copy.offset)
            data = file.read(split.file.size)
    except OSError:
        return None
    return data if len(data) == split.file.size and has_checksums(data, split.checksums) else None
