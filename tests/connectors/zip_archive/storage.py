"""How the tests put files where the connector `zip_archive` finds them, and how they register it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from zipfile import ZipFile

import pytest

from executors.model import StoreConnection
from executors.sources import SOURCES
from ir.connectors import CONNECTORS
from tests.connectors.zip_archive.config import CONNECTOR


def register(monkeypatch: pytest.MonkeyPatch) -> None:
    """Add the connector to the table of each layer, as long as the test runs."""
    handler = "tests.connectors.zip_archive.source:ZipArchive"
    monkeypatch.setitem(CONNECTORS._kinds, CONNECTOR.name, CONNECTOR)
    monkeypatch.setitem(SOURCES._kinds, CONNECTOR.name, handler)


@dataclass
class ZipStorage:
    """An archive `in.zip` in the workspace's folder."""

    folder: Path
    connector = CONNECTOR.name
    path = "in.zip"
    connection: StoreConnection | None = None
    atomicity: Mapping[str, str] = field(default_factory=dict)
    contents: dict[str, bytes] = field(default_factory=dict)

    def make(self) -> None:
        self._pack()

    def write(self, name: str, content: bytes) -> Path:
        self.contents[name] = content
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
        with ZipFile(archive, "w") as packed:
            for name, content in self.contents.items():
                packed.writestr(name, content)
        return archive
