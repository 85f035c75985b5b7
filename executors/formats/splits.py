"""Counts records in a stream and chooses where splits begin."""

from __future__ import annotations

import numpy as np

from executors.formats.records import Offsets, record_too_long
from executors.model import SourceFile, Split


class SplitPlanner:
    """Gets the offsets of all records in order and stores a start about every `split_bytes`.

    The first `skip` records are not data (the header).
    """

    def __init__(self, size: int, split_bytes: int, skip: int = 0) -> None:
        parts = max(1, -(-size // split_bytes))
        self._size, self._skip = size, skip
        self._step = max(1, -(-size // parts))
        self._points: list[tuple[int, int]] = []  # offset, data records before it
        self._next, self._seen = 0, 0

    @property
    def records(self) -> int:
        return max(0, self._seen - self._skip)

    def add(self, starts: Offsets) -> None:
        """Add the absolute offsets of the next records."""
        first = max(0, self._skip - self._seen)
        while first < len(starts):
            at = first + int(np.searchsorted(starts[first:], self._next))
            if at >= len(starts):
                break
            offset = int(starts[at])
            self._points.append((offset, self._seen + at - self._skip))
            self._next = (offset // self._step + 1) * self._step
            first = at + 1
        self._seen += len(starts)

    def one_split(self, file: SourceFile, sha256: str) -> tuple[Split, ...]:
        """Return the whole file as one split, for encodings in which the offsets of records are not those of bytes."""
        return whole_file(file, sha256, self.records)

    def splits(self, file: SourceFile, sha256: str) -> tuple[Split, ...]:
        ends = [*self._points[1:], (self._size, self.records)]
        return tuple(
            Split(file, sha256, start, end, before + 1, after - before)
            for (start, before), (end, after) in zip(self._points, ends, strict=False)
        )


def head_split(file: SourceFile, starts: Offsets, *, in_bytes: bool = True) -> tuple[Split, ...]:
    """Return one split without checksums, with the records that begin at these offsets except the last one, which may
    be incomplete. Where the offsets are not byte offsets, the split is the whole file, and its reader stops after these
    records. Raises Terminal if there is no complete record."""
    records = len(starts) - 1
    if records < 1:
        raise record_too_long(file.name)
    start, end = (int(starts[0]), int(starts[-1])) if in_bytes else (0, file.size)
    return (Split(file, "", start, end, 1, records, None),)


def whole_file(file: SourceFile, sha256: str, records: int) -> tuple[Split, ...]:
    """Return one split, or none for a file without a record."""
    return (Split(file, sha256, 0, file.size, 1, records),) if records else ()
