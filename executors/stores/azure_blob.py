"""Containers of Azure Blob Storage and of servers that speak its protocol."""

from __future__ import annotations

import heapq
from collections.abc import Iterator
from operator import attrgetter

from executors.model import StoreConnection
from executors.stores.base import Entry, Store
from executors.stores.files import WINDOW_BYTES, RangeStream
from executors.stores.opendal_store import OpendalStore, operator, raise_unusable
from ir.manifests.stores.azure_blob import DeclaredAzureBlob


class AzureContainer(OpendalStore):
    """The blobs of a container."""

    def list(self, folder: str, after: str = "", page: int | None = None) -> Iterator[Entry]:
        """Azure cannot list from a name on: a page is found among all entries, of which one page is in memory."""
        entries = super().list(folder, after)
        return entries if page is None else iter(heapq.nsmallest(page, entries, key=attrgetter("path")))

    def copy(self, source: Entry, to: str) -> None:
        """Read the listed version and write it. Copies by the server may go on after its response, and their result
        is not in it; and they refuse a SAS token as the permission for the source."""
        with (
            RangeStream(self, source.as_file(source.path)) as parts,
            self._translated(f"copying {source.path!r} to {to!r}"),
        ):
            # Not a context manager: after a failure the blob must not be completed.
            written = self._client.open(to, "wb", chunk=WINDOW_BYTES)
            while part := parts.read(WINDOW_BYTES):
                written.write(part)
            written.close()


def open_store(connection: StoreConnection) -> Store:
    """Raises Terminal `source.store_unusable`."""
    settings, secrets = connection.settings, connection.secrets
    # The driver uses the environment and the roles of the machine only without a key or token.
    key, token = secrets.get("accountKey"), secrets.get("sasToken", "").strip().removeprefix("?")
    if bool(key) == bool(token):
        raise_unusable(connection.name)
    try:
        client = operator(
            "azblob",
            endpoint=DeclaredAzureBlob.endpoint_of(settings).rstrip("/"),
            container=settings["container"],
            account_name=settings["account"],
            **({"account_key": key.strip()} if key else {"sas_token": token}),
        )
    except Exception:  # noqa: BLE001 - the driver's text may repeat a key
        raise_unusable(connection.name)
    return AzureContainer(f"Container {settings['container']}", lambda: client)
