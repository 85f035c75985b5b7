"""Counting records while they stream by, and choosing where splits begin."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from executors.formats.records import Offsets
from executors.model import SourceFile, Split


@dataclass(slots=True)
class SplitPlanner:
    """Given the offsets of all records in order, keeps a start about every `step` bytes.

    The first `skip` records are no data (the header).
    """

    size: int
    split_bytes: int
    skip: int = 0
    seen: int = 0
    _points: list[tuple[int, int]] = field(default_factory=list)
    _next: int = 0

    def __post_init__(self) -> None:
        parts = max(1, -(-self.size // self.split_bytes))
        self._step = max(1, -(-self.size // parts))

    _step: int = field(init=False, default=1)

    @property
    def records(self) -> int:
        return max(0, self.seen - self.skip)

    def add(self, starts: Offsets) -> None:
        """Take the absolute offsets of the next records."""
        first = max(0, self.skip - self.seen)
        while first < len(starts):
            at = first + int(np.searchsorted(starts[first:], self._next))
            if at >= len(starts):
                break
            offset = int(starts[at])
            self._points.append((offset, self.seen + at - self.skip))
            self._next = (offset // self._step + 1) * self._step
            first = at + 1
        self.seen += len(starts)

    def splits(self, file: SourceFile, sha256: str) -> tuple[Split, ...]:
        ends = [*self._points[1:], (self.size, self.records)]
        return tuple(
            Split(file, sha256, start, end, before + 1, after - before)
            for (start, before), (end, after) in zip(self._points, ends, strict=False)
        )
