"""Log files of the servers, kept below a bounded size without a process in between."""

from __future__ import annotations

import os
import shutil
from pathlib import Path
from typing import BinaryIO

_LIMIT = 10_000_000


class ServerLog:
    """A file that a server appends to directly; `path.1` holds what was before."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def open(self) -> BinaryIO:
        return open(os.open(self.path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600), "ab")

    def append(self, text: str) -> None:
        with self.open() as file:
            file.write(text.encode())

    def tail(self, size: int = 4000) -> str:
        """The last `size` bytes."""
        with open(self.path, "rb") as file:
            file.seek(max(0, self.path.stat().st_size - size))
            return file.read().decode(errors="replace")

    def rotate(self) -> None:
        """Copy and cut a long file: the server keeps its descriptor, and appends to the start of what is left."""
        if self.path.exists() and self.path.stat().st_size > _LIMIT:
            shutil.copyfile(self.path, self.path.with_name(f"{self.path.name}.1"))
            os.truncate(self.path, 0)
