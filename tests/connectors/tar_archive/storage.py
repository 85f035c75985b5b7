"""How the tests put files where the connector `tar_archive` finds them, and how they register it."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from io import BytesIO
from pathlib import Path
from tarfile import TarFile, TarInfo

import pytest

from executors.model import StoreConnection
from executors.sources import SOURCES
from ir.connectors import CONNECTORS
from tests.connectors.tar_archive.config import CONNECTOR


def register(monkeypatch: pytest.MonkeyPatch) -> None:
    """Add the connector to the table of each layer, as long as the test runs."""
    handler = "tests.connectors.tar_archive.source:TarArchive"
    monkeypatch.setitem(CONNECTORS._kinds, CONNECTOR.name, CONNECTOR)
    monkeypatch.setitem(SOURCES._kinds, CONNECTOR.name, handler)


@dataclass
class TarStorage:
    """An archive `in.tar` in the workspace's folder."""

    folder: Path
    connector = CONNECTOR.name
    path = "in.tar"
    connection: StoreConnection | None = None
    atomicity: Mapping[str, str] = field(default_factory=dict)
    contents: dict[str, tuple[bytes, float]] = field(default_factory=dict)

    def make(self) -> None:
        self._pack()

    def write(self, name: str, content: bytes) -> Path:
        self.contents[name] = content, time.time()
        return self._pack()

    def remove(self, name: str) -> None:
        del self.contents[name]
        self._pack()

    def exists(self, name: str) -> bool:
        return name in self.contents

    def claimed(self, name: str) -> bool:
        return False

    def _pack(self) -> Path:
        archive = self.folder / self.path
        with TarFile(archive, "w") as packed:
            for name, (content, written_at) in self.contents.items():
                member = TarInfo(name)
                member.size, member.mtime = len(content), written_at  # type: ignore[assignment]  # with its fraction
                packed.addfile(member, BytesIO(content))
        return archive
