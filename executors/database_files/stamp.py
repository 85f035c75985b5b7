"""The identity of a database file, from which its replacement can be seen. Engines import it too, so it imports nothing
of Flow."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True, slots=True)
class Stamp:
    """The identity of a database file and of the file beside it that holds its newest changes: (inode, size in bytes,
    time of the last change in ns), None if there is no such file."""

    file: tuple[int, int, int] | None
    log: tuple[int, int, int] | None

    @classmethod
    def of(cls, path: Path, log_suffix: str) -> Stamp:
        return cls(_status(path), _status(Path(f"{path}{log_suffix}")))


def _status(path: Path) -> tuple[int, int, int] | None:
    try:
        found = os.stat(path)
    except FileNotFoundError:
        return None
    return found.st_ino, found.st_size, found.st_mtime_ns
