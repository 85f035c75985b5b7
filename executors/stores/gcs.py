"""Buckets of Google Cloud Storage and of servers that speak its protocol."""

from __future__ import annotations

from typing import Any
from uuid import uuid4

import httpx
import opendal
from opendal.exceptions import NotFound

from executors.errors import Failure
from executors.formats.files import changed
from executors.model import SourceFile, StoreConnection
from executors.stores.base import Store
from executors.stores.failures import (
    credentials_refused,
    no_versions,
    permission_denied,
    store_failed,
    store_missing,
    unreachable,
)
from executors.stores.google_tokens import AccessTokens
from executors.stores.opendal_store import REQUEST_SECONDS, OpendalStore, operator, raise_unusable
from ir.manifests.stores.gcs import DeclaredGcs

_NONE = "0"
"""The generation of an object that does not exist."""


class GoogleBucket(OpendalStore):
    """The objects of a bucket. Their versions are generation numbers."""

    def __init__(self, bucket: str, endpoint: str, key: str) -> None:
        """Raises ValueError for an unusable key."""
        super().__init__(f"Bucket {bucket}", self._renewed)
        self._bucket, self._endpoint = bucket, endpoint
        self._tokens = AccessTokens(self.name, key)
        self._made: tuple[str, opendal.Operator] | None = None

    def _renewed(self) -> opendal.Operator:
        """Return a client with a valid access token."""
        token, made = self._tokens.current(), self._made
        if made is None or made[0] != token:
            made = self._made = (token, _client(self._bucket, self._endpoint, token))
        return made[1]

    def read(self, file: SourceFile, start: int, size: int) -> bytes:
        """The driver cannot read a generation. If it is the current one after the part was read, and was when the
        file was opened, the part belongs to it, because generations do not return."""
        data = self._read_part(file, start, size, None)
        now = self.stat(file.path)
        if now is None or (file.version and now.version != file.version):
            raise changed(file, "was replaced while it was read")
        return data

    def read_small(self, path: str) -> tuple[bytes, str] | None:
        entry = self.stat(path)
        if entry is None:
            return None
        if entry.version is None:
            raise no_versions(self.name)
        try:
            with self._translated(f"reading {path!r}"):
                content: bytes = self._client.read(path)
        except NotFound:
            return None
        return (content, entry.version) if self.stat(path) == entry else None

    def create(self, path: str, content: bytes) -> bool:
        status = self._write(path, content, _NONE)
        if status == 404:
            raise store_missing(self.name)
        return status == 200

    def replace(self, path: str, content: bytes, version: str) -> bool:
        return self._write(path, content, version) == 200

    def _write(self, path: str, content: bytes, generation: str) -> int:
        """Write a small object if its generation is this one, and return the status 200, 404 or 412. The driver has no
        such condition. A multipart upload is one request and, unlike a simple one, accepted by all servers with its
        condition."""
        boundary, what = uuid4().hex, f"writing {path!r}"
        start = f"--{boundary}\r\nContent-Type: application/json\r\n\r\n".encode()
        metadata, end = b"{}\r\n", f"\r\n--{boundary}--".encode()
        try:
            response = httpx.post(
                f"{self._endpoint}/upload/storage/v1/b/{self._bucket}/o",
                params={"uploadType": "multipart", "name": path, "ifGenerationMatch": generation},
                content=start + metadata + start + content + end,
                headers={
                    "Authorization": f"Bearer {self._tokens.current()}",
                    "Content-Type": f"multipart/related; boundary={boundary}",
                },
                timeout=REQUEST_SECONDS,
            )
        except httpx.TransportError:
            raise unreachable(self.name, what) from None
        if response.status_code in (200, 404, 412):
            return response.status_code
        raise self._refused(response.status_code, what)

    def _refused(self, status: int, what: str) -> Failure:
        if status == 401:
            return credentials_refused(self.name)
        if status == 403:
            return permission_denied(self.name, what)
        if status == 429 or status >= 500:
            return unreachable(self.name, what)
        return store_failed(self.name, what, f"HTTP {status}")

    def _version_of(self, metadata: Any) -> str | None:
        generation: str | None = metadata.version
        return generation


def open_store(connection: StoreConnection) -> Store:
    """Raises Terminal `source.store_unusable`."""
    settings, key = connection.settings, connection.secrets["serviceAccount"]
    if DeclaredGcs.unusable_secret("serviceAccount", key):
        raise_unusable(connection.name)
    try:
        return GoogleBucket(settings["bucket"], DeclaredGcs.endpoint_of(settings), key)
    except ValueError:
        raise_unusable(connection.name)


def _client(bucket: str, endpoint: str, token: str) -> opendal.Operator:
    return operator(
        "gcs",
        bucket=bucket,
        endpoint=endpoint,
        token=token,
        # Nothing but the connection decides as whom a run reads: no environment, file or role of the machine.
        disable_config_load="true",
        disable_vm_metadata="true",
    )
