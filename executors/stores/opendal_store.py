"""Object stores through OpenDAL: one client for S3, Google Cloud Storage and Azure."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, NoReturn

import opendal
from opendal import exceptions
from opendal.exceptions import (
    ConditionNotMatch,
    ConfigInvalid,
    NotFound,
    PermissionDenied,
    RangeNotSatisfied,
    RateLimited,
)
from opendal.layers import RetryLayer, TimeoutLayer

from executors.errors import Failure, Terminal
from executors.formats.files import changed
from executors.model import SourceFile
from executors.stores.base import Entry, WritableStore, unreachable

RETRIES = 2
REQUEST_SECONDS, TRANSFER_SECONDS = 10.0, 60.0
"""The limits of a request without a body, and of one block of a transfer."""
CHUNK_BYTES, AT_ONCE = 4 << 20, 4
"""A large read is split into requests of this size, of which so many run at once."""

# They have no common class but Exception.
_ERRORS: tuple[type[Exception], ...] = tuple(
    found for found in vars(exceptions).values() if isinstance(found, type) and issubclass(found, Exception)
)

_CODE = re.compile(r'(?:code: "|<Code>)([A-Za-z]{1,60})')
_WRONG_KEYS = frozenset(
    {
        "AuthenticationFailed",
        "AuthorizationHeaderMalformed",
        "ExpiredToken",
        "InvalidAccessKeyId",
        "InvalidToken",
        "SignatureDoesNotMatch",
        "TokenRefreshRequired",
    }
)
_NO_CONTAINER = frozenset({"NoSuchBucket", "ContainerNotFound", "PermanentRedirect"})


def operator(service: str, **settings: str) -> opendal.Operator:
    """Return a client that retries what may succeed and that ends every request in a limited time."""
    made = opendal.Operator(service, **settings)
    made = made.layer(TimeoutLayer(timeout=REQUEST_SECONDS, io_timeout=TRANSFER_SECONDS))
    return made.layer(RetryLayer(max_times=RETRIES, min_delay=0.2, max_delay=3.0, jitter=True))


class OpendalStore(WritableStore):
    """The objects of one bucket or container. `name` is displayed."""

    def __init__(self, name: str, client: opendal.Operator) -> None:
        self._name, self._client = name, client

    @property
    def name(self) -> str:
        return self._name

    def list(self, folder: str, after: str = "", page: int | None = None) -> Iterator[Entry]:
        with self._translated(f"listing {folder or '/'!r}"):
            for found in self._client.list(folder or "/", start_after=after or None, limit=page):
                entry = _entry(found.path, found.metadata)
                if found.path != (folder or "/") and entry.path > after:
                    yield entry

    def stat(self, path: str) -> Entry | None:
        try:
            with self._translated(f"reading {path!r}"):
                return _entry(path, self._client.stat(path))
        except NotFound:
            return None

    def read(self, file: SourceFile, start: int, size: int) -> bytes:
        try:
            with self._translated(f"reading {file.name!r}"):
                data: bytes = self._client.read(
                    file.path,
                    offset=start,
                    size=size,
                    if_match=_quoted(file.version),
                    chunk=CHUNK_BYTES if size > CHUNK_BYTES else None,
                    concurrent=AT_ONCE if size > CHUNK_BYTES else None,
                )
        except (ConditionNotMatch, RangeNotSatisfied):
            raise changed(file, "was replaced while it was read") from None
        except NotFound:
            raise changed(file, "was deleted") from None
        if len(data) != size:
            raise no_ranges(self._name, file)
        return data

    def create(self, path: str, content: bytes) -> bool:
        try:
            with self._translated(f"writing {path!r}"):
                self._client.write(path, content, if_not_exists=True)
        except ConditionNotMatch:
            return False
        return True

    def replace(self, path: str, content: bytes, version: str) -> bool:
        try:
            with self._translated(f"writing {path!r}"):
                self._client.write(path, content, if_match=_quoted(version))
        except (ConditionNotMatch, NotFound):
            return False
        return True

    def read_small(self, path: str) -> tuple[bytes, str] | None:
        entry = self.stat(path)
        if entry is None or entry.version is None:
            return None
        try:
            with self._translated(f"reading {path!r}"):
                return self._client.read(path, if_match=_quoted(entry.version)), entry.version
        except (ConditionNotMatch, NotFound):
            return None

    def copy(self, source: Entry, to: str) -> None:
        try:
            with self._translated(f"copying {source.path!r} to {to!r}"):
                self._client.copy(source.path, to)
        except NotFound:
            raise changed(source.as_file(source.path), "was deleted") from None

    def delete(self, path: str) -> None:
        with self._translated(f"deleting {path!r}"):
            self._client.delete(path)

    @contextmanager
    def _translated(self, what: str) -> Iterator[None]:
        """Translate the errors of the driver, but not those of missing or changed objects."""
        try:
            yield
        except (NotFound, ConditionNotMatch, RangeNotSatisfied) as error:
            if _code(error) in _NO_CONTAINER:
                raise self._failure(error, what) from None
            raise
        except _ERRORS as error:
            # The driver's text has addresses and headers of the request; no cause, so that no log shows it.
            raise self._failure(error, what) from None

    def _failure(self, error: Exception, what: str) -> Failure:
        code, text = _code(error), str(error)
        if code in _NO_CONTAINER or (isinstance(error, ConfigInvalid) and not code):
            return Terminal(
                "source.store_missing",
                f"{self._name} does not exist at this address{_said(code)}.",
                hint="Check the name, the region and the address of the connection.",
            )
        if code in _WRONG_KEYS:
            return Terminal(
                "source.credentials_refused",
                f"{self._name} refuses the credentials{_said(code)}.",
                hint="Replace the secret of the connection. A key may have been revoked or have expired.",
            )
        if isinstance(error, PermissionDenied):
            return Terminal(
                "source.permission_denied",
                f"{self._name} does not permit {what}{_said(code)}.",
                hint="Give the key of the connection this permission. Test the connection to see which ones it has.",
            )
        if isinstance(error, RateLimited) or " (temporary)" in text or " (persistent)" in text:
            return unreachable(self._name, what)
        return Terminal(
            "source.store_failed",
            f"{self._name} fails while {what}: {type(error).__name__}{_said(code)}.",
            hint="Check the address of the connection and its TLS certificate. Test the connection.",
        )


def no_ranges(name: str, file: SourceFile) -> Terminal:
    """Return the failure for a server that does not return the requested part of a file."""
    return Terminal(
        "source.no_ranges",
        f"{name} did not return the requested part of {file.name}.",
        hint="Flow reads files in parts, so the server must support range requests. A proxy may remove them.",
    )


def raise_unusable(name: str) -> NoReturn:
    """Raise the failure for settings that the driver refuses; its text may repeat a secret."""
    raise Terminal(
        "source.store_unusable",
        f"The settings of connection {name!r} cannot be used.",
        hint="Check the address and the keys of the connection.",
    ) from None


def _entry(path: str, metadata: Any) -> Entry:
    if path.endswith("/"):
        return Entry(path)
    modified = metadata.last_modified
    stamp = int(modified.timestamp()) * 10**9 + modified.microsecond * 1000 if modified else 0
    return Entry(path, metadata.content_length, stamp, _version(metadata))


def _version(metadata: Any) -> str | None:
    etag = metadata.etag
    return etag.strip('"') if etag else None


def _quoted(version: str | None) -> str | None:
    return f'"{version}"' if version else None


def _code(error: Exception) -> str:
    found = _CODE.search(str(error))
    return found[1] if found else ""


def _said(code: str) -> str:
    return f" ({code})" if code else ""
