"""Whole-file locks (`flock`). The kernel releases them when their process ends, even if it is killed."""

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
        """Take a shared lock. Waits while another process holds an exclusive lock."""
        fcntl.flock(self._fd, fcntl.LOCK_SH)

    def wait(self) -> None:
        """Take an exclusive lock. Waits while another process holds a lock."""
        fcntl.flock(self._fd, fcntl.LOCK_EX)

    def take(self) -> bool:
        """Take an exclusive lock if no other process holds a lock. Return whether that succeeded."""
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
    """Hold an exclusive lock on `path` in the block. Waits for other processes."""
    lock = FileLock(path)
    try:
        lock.wait()
        yield
    finally:
        lock.release()


@contextmanager
def probing(path: Path) -> Iterator[bool]:
    """Yield whether no process holds a lock on `path`. If so, no process can take it in the block."""
    lock = FileLock(path)
    try:
        yield lock.take()
    finally:
        lock.release()


def is_held(path: Path) -> bool:
    """Return whether a process holds a lock on `path`."""
    with probing(path) as free:
        return not free
