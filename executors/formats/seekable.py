"""The base of streams that read a file of known size from any position."""

from __future__ import annotations

import io


class Seekable(io.RawIOBase):
    """A stream over `size` bytes. A subclass implements `read`, which starts at `at` and moves it."""

    def __init__(self, size: int) -> None:
        self.size, self.at = size, 0

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def tell(self) -> int:
        return self.at

    def seek(self, offset: int, whence: int = io.SEEK_SET, /) -> int:
        self.at = self.position(offset, whence)
        return self.at

    def position(self, offset: int, whence: int) -> int:
        """Return the position that `seek` means."""
        return max(0, {io.SEEK_SET: 0, io.SEEK_CUR: self.at, io.SEEK_END: self.size}[whence] + offset)

    def end_of(self, size: int | None) -> int:
        """Return the position at which a read of this size ends."""
        return self.size if size is None or size < 0 else min(self.at + size, self.size)
