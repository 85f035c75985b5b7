"""How the tests put files where the connector `sftp` finds them."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path
from uuid import uuid4

from executors.model import StoreConnection
from tests.connectors.sftp.server import SftpServer

_SECONDS = count(1_700_000_000)


@dataclass
class SftpStorage:
    """A folder of its own in that of a server. Each file is a second younger than the one before: the protocol has no
    finer times."""

    server: SftpServer
    path: str = field(default_factory=lambda: f"{uuid4()}/in/")
    connector = "sftp"
    atomicity: Mapping[str, str] = field(
        default_factory=lambda: {"stagingFolder": ".doing/", "successFolder": ".done/", "failureFolder": ".failed/"}
    )

    @property
    def connection(self) -> StoreConnection:
        return self.server.connection()

    @property
    def folder(self) -> Path:
        return self.server.folder / self.path

    def make(self) -> None:
        self.folder.mkdir(parents=True)

    def write(self, name: str, content: bytes) -> Path:
        path = self.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)
        second = next(_SECONDS)
        os.utime(path, (second, second))
        return path

    def remove(self, name: str) -> None:
        (self.folder / name).unlink()

    def exists(self, name: str) -> bool:
        return (self.folder / name).exists()

    def claimed(self, name: str) -> bool:
        return any((self.folder / ".doing").glob(f"*/{name}"))
