"""Where the tests put files for each connector of files, behind one interface."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

import pytest

from tests.connectors.zip_archive import storage as zip_archive


class Storage(Protocol):
    """`connector` and `path` are those of a source node that reads the files."""

    @property
    def connector(self) -> str: ...

    @property
    def path(self) -> str: ...

    def make(self) -> None:
        """Make the place where the files would be, without any."""

    def write(self, name: str, content: bytes) -> Path:
        """Put a file there, in place of one of its name; returns what changed in the file system."""

    def remove(self, name: str) -> None: ...


@dataclass(frozen=True)
class Folder:
    """The folder `in` in the workspace's folder."""

    folder: Path
    connector = "local_fs"
    path = "in/"

    def make(self) -> None:
        (self.folder / "in").mkdir()

    def write(self, name: str, content: bytes) -> Path:
        path = self.folder / "in" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)
        return path

    def remove(self, name: str) -> None:
        (self.folder / "in" / name).unlink()


def _zip_archive(folder: Path, monkeypatch: pytest.MonkeyPatch) -> Storage:
    zip_archive.register(monkeypatch)
    return zip_archive.ZipStorage(folder)


STORAGES: dict[str, Callable[[Path, pytest.MonkeyPatch], Storage]] = {
    "local_fs": lambda folder, monkeypatch: Folder(folder),
    "zip_archive": _zip_archive,
}
"""By connector."""
