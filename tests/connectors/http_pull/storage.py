"""How the tests put files where the connector `http_pull` finds them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from uuid import uuid4

from executors.model import StoreConnection
from tests.connectors.http_pull.server import WebServer


@dataclass
class WebStorage:
    """A folder of its own on a server, whose page lists the files."""

    server: WebServer
    name: str = field(default_factory=lambda: str(uuid4()))
    connector = "http_pull"
    atomicity: Mapping[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.folder.mkdir(parents=True, exist_ok=True)

    @property
    def path(self) -> str:
        return f"{self.server.url}{self.name}/"

    @property
    def connection(self) -> StoreConnection:
        return self.server.connection()

    @property
    def folder(self) -> Path:
        return self.server.folder / self.name

    def make(self) -> None:
        """The page exists from the beginning."""

    def write(self, name: str, content: bytes) -> Path:
        new = self.folder / f".{uuid4()}"
        new.write_bytes(content)
        return new.replace(self.folder / name)

    def remove(self, name: str) -> None:
        (self.folder / name).unlink()

    def exists(self, name: str) -> bool:
        return (self.folder / name).exists()

    def claimed(self, name: str) -> bool:
        return False
