"""Log files of the servers with a limited size, without a process that copies the output."""

from __future__ import annotations

import os
import shutil
from pathlib import Path
from typing import BinaryIO

_LIMIT = 10_000_000


class ServerLog:
    """A file that a server appends to directly; `path.1` has the older lines."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def open(self) -> BinaryIO:
        return open(os.open(self.path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600), "ab")

    def append(self, text: str) -> None:
        with self.open() as file:
            file.write(text.encode())

    def tail(self, size: int = 4000) -> str:
        """Return the last `size` bytes as text."""
        with open(self.path, "rb") as file:
            file.seek(max(0, self.path.stat().st_size - size))
            return file.read().decode(errors="replace")

    def rotate(self) -> None:
        """Move the content of a long file to `path.1` and truncate the file, which the server still has open."""
        if self.path.exists() and self.path.stat().st_size > _LIMIT:
            shutil.copyfile(self.path, self.path.with_name(f"{self.path.name}.1"))
            os.truncate(self.path, 0)
