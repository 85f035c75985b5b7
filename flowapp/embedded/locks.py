"""Whole-file locks (`flock`), which the kernel drops when their holder dies, however it dies."""

from __future__ import annotations

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


class FileLock:
    """A lock on `path`, held until `release`."""

    def __init__(self, path: Path) -> None:
        self._fd = os.open(path, os.O_RDWR | os.O_CREAT, 0o600)

    def share(self) -> None:
        """Hold it together with others; waits while someone holds it alone."""
        fcntl.flock(self._fd, fcntl.LOCK_SH)

    def wait(self) -> None:
        """Hold it alone; waits while somebody else holds it."""
        fcntl.flock(self._fd, fcntl.LOCK_EX)

    def take(self) -> bool:
        """Hold it alone, if nobody else holds it now."""
        try:
            fcntl.flock(self._fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
        return True

    def release(self) -> None:
        if self._fd >= 0:
            os.close(self._fd)
            self._fd = -1


@contextmanager
def held(path: Path) -> Iterator[None]:
    """Hold the lock on `path` alone; waits for others."""
    lock = FileLock(path)
    try:
        lock.wait()
        yield
    finally:
        lock.release()


@contextmanager
def probing(path: Path) -> Iterator[bool]:
    """Whether nobody holds the lock on `path`; nobody can take it within the block if so."""
    lock = FileLock(path)
    try:
        yield lock.take()
    finally:
        lock.release()


def is_held(path: Path) -> bool:
    """Whether some process holds the lock on `path`."""
    with probing(path) as free:
        return not free
