"""Where the tests put files for each connector of files, behind one interface."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

import pytest

from executors.model import StoreConnection
from tests.connectors.azure_blob.server import AzureServer
from tests.connectors.gcs.server import GcsServer
from tests.connectors.http_pull.server import shared_server as web_server
from tests.connectors.http_pull.storage import WebStorage
from tests.connectors.object_storage import ObjectStorage
from tests.connectors.s3.server import S3Server
from tests.connectors.server import StoreServer, shared_server
from tests.connectors.sftp.server import shared_server as sftp_server
from tests.connectors.sftp.storage import SftpStorage
from tests.connectors.tar_archive import storage as tar_archive


class Storage(Protocol):
    """`connector` and `path` are those of a source node that reads the files."""

    @property
    def connector(self) -> str: ...

    @property
    def path(self) -> str: ...

    @property
    def connection(self) -> StoreConnection | None:
        """The connection of the node, which documents call `files`."""

    @property
    def atomicity(self) -> Mapping[str, str]:
        """The setting `atomicity` for a connector that moves files, with the folders `.done` and `.failed`."""

    def make(self) -> None:
        """Make the place where the files would be, without any."""

    def write(self, name: str, content: bytes) -> Path:
        """Put a file there, in place of one of its name; returns what changed in the file system."""

    def remove(self, name: str) -> None: ...

    def exists(self, name: str) -> bool:
        """Return whether there is a file of this name, which may begin with a folder."""

    def claimed(self, name: str) -> bool:
        """Return whether a run has claimed the file."""


@dataclass(frozen=True)
class Folder:
    """The folder `in` in the workspace's folder."""

    folder: Path
    connector = "local_fs"
    path = "in/"
    connection: StoreConnection | None = None
    atomicity: Mapping[str, str] = field(
        default_factory=lambda: {"stagingFolder": ".doing/", "successFolder": ".done/", "failureFolder": ".failed/"}
    )

    def make(self) -> None:
        (self.folder / "in").mkdir()

    def write(self, name: str, content: bytes) -> Path:
        path = self.folder / "in" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)
        return path

    def remove(self, name: str) -> None:
        (self.folder / "in" / name).unlink()

    def exists(self, name: str) -> bool:
        return (self.folder / "in" / name).exists()

    def claimed(self, name: str) -> bool:
        return any((self.folder / "in" / ".doing").glob(f"*/{name}"))


def _tar_archive(folder: Path, monkeypatch: pytest.MonkeyPatch) -> Storage:
    tar_archive.register(monkeypatch)
    return tar_archive.TarStorage(folder)


OBJECT_STORES: dict[str, type[StoreServer]] = {server.kind: server for server in (S3Server, GcsServer, AzureServer)}
"""By connector."""


def object_storage(connector: str) -> ObjectStorage:
    """Return a folder of its own in the shared server of a kind."""
    return ObjectStorage(shared_server(OBJECT_STORES[connector]))


STORAGES: dict[str, Callable[[Path, pytest.MonkeyPatch], Storage]] = {
    "local_fs": lambda folder, monkeypatch: Folder(folder),
    "tar_archive": _tar_archive,
    **{name: lambda folder, monkeypatch, name=name: object_storage(name) for name in OBJECT_STORES},
    "sftp": lambda folder, monkeypatch: SftpStorage(sftp_server()),
    "http_pull": lambda folder, monkeypatch: WebStorage(web_server()),
}
"""By connector."""


def place_of(storage: Storage) -> dict[str, str]:
    """Return the setting that names where the files are."""
    return {"index" if storage.connector == "http_pull" else "path": storage.path}
