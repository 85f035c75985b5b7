"""How the tests put files where the connector `s3` finds them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from uuid import uuid4

from executors.model import StoreConnection
from executors.stores import open_store
from executors.stores.opendal_store import OpendalStore
from tests.connectors.s3.server import S3Server


@dataclass
class S3Storage:
    """A folder of its own in the bucket of a server."""

    server: S3Server
    path: str = field(default_factory=lambda: f"{uuid4()}/in/")
    connector = "s3"
    atomicity: Mapping[str, str] = field(
        default_factory=lambda: {"successFolder": ".done/", "failureFolder": ".failed/"}
    )

    @property
    def connection(self) -> StoreConnection:
        return self.server.connection()

    @property
    def client(self) -> OpendalStore:
        store = open_store(self.connection)
        assert isinstance(store, OpendalStore)
        return store

    def make(self) -> None:
        """A bucket has no folders."""

    def write(self, name: str, content: bytes) -> Path:
        self.client._client.write(self.path + name, content)
        return Path(self.path + name)

    def remove(self, name: str) -> None:
        self.client.delete(self.path + name)

    def exists(self, name: str) -> bool:
        return self.client.stat(self.path + name) is not None

    def claimed(self, name: str) -> bool:
        return self.exists(f".flow-claims/{name}")
