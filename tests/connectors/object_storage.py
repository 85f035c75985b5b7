"""How the tests put files where the connectors of object stores find them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from uuid import uuid4

from executors.model import StoreConnection
from executors.stores import open_store
from executors.stores.opendal_store import OpendalStore
from tests.connectors.proxy import Proxy
from tests.connectors.server import StoreServer


@dataclass
class ObjectStorage:
    """A folder of its own in the bucket or container of a server."""

    server: StoreServer
    path: str = field(default_factory=lambda: f"{uuid4()}/in/")
    proxy: Proxy | None = None
    """What the product has to go through."""
    atomicity: Mapping[str, str] = field(
        default_factory=lambda: {"successFolder": ".done/", "failureFolder": ".failed/"}
    )

    @property
    def connector(self) -> str:
        return self.server.kind

    @property
    def connection(self) -> StoreConnection:
        return self.server.through(self.proxy) if self.proxy else self.server.connection()

    @property
    def client(self) -> OpendalStore:
        """The client of the tests, which always reaches the server."""
        store = open_store(self.server.connection())
        assert isinstance(store, OpendalStore)
        return store

    def make(self) -> None:
        """Object stores have no folders."""

    def write(self, name: str, content: bytes) -> Path:
        self.client._client.write(self.path + name, content)
        return Path(self.path + name)

    def remove(self, name: str) -> None:
        self.client.delete(self.path + name)

    def exists(self, name: str) -> bool:
        return self.client.stat(self.path + name) is not None

    def claimed(self, name: str) -> bool:
        return self.exists(f".flow-claims/{name}")
