"""Object stores through OpenDAL: one client for S3, Google Cloud Storage and Azure."""

from __future__ import annotations

import asyncio
import re
from collections.abc import AsyncIterator, Callable, Iterator, Mapping
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
    Unexpected,
)
from opendal.layers import RetryLayer, TimeoutLayer

from executors.errors import Failure, Terminal
from executors.formats.files import changed
from executors.model import SourceFile
from executors.stores.base import Entry, WritableStore
from executors.stores.failures import (
    credentials_refused,
    no_ranges,
    no_versions,
    permission_denied,
    store_failed,
    store_missing,
    unreachable,
)

RETRIES = 2
REQUEST_SECONDS, TRANSFER_SECONDS = 10.0, 60.0
"""The limits of a request without a body, and of one block of a transfer."""
CHUNK_BYTES, AT_ONCE = 4 << 20, 4
"""A large read is split into requests of this size, of which so many run at once."""

BATCH_ENTRIES = 1000
"""The number of entries of a listing that are in memory."""

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
_WRONG_SIZE = re.compile(
    r"reader got (?:too much data|unexpected data size).*?expect: (\d+)\s+actual: (\d+)", re.DOTALL
)
_NO_CONTAINER = frozenset({"NoSuchBucket", "ContainerNotFound", "PermanentRedirect"})


def operator(service: str, **settings: str) -> opendal.Operator:
    """Return a client that retries what may succeed and that ends every request in a limited time."""
    made = opendal.Operator(service, **settings)
    made = made.layer(TimeoutLayer(timeout=REQUEST_SECONDS, io_timeout=TRANSFER_SECONDS))
    return made.layer(RetryLayer(max_times=RETRIES, min_delay=0.2, max_delay=3.0, jitter=True))


class OpendalStore(WritableStore):
    """The objects of one bucket or container. `name` is displayed. `connect` returns the current client."""

    def __init__(self, name: str, connect: Callable[[], opendal.Operator]) -> None:
        self._name, self._connect = name, connect

    @property
    def _client(self) -> opendal.Operator:
        return self._connect()

    @property
    def name(self) -> str:
        return self._name

    def list(self, folder: str, after: str = "", page: int | None = None) -> Iterator[Entry]:
        try:
            with self._translated(f"listing {folder or '/'!r}"):
                for found in _listed(self._client, folder or "/", start_after=after or None, limit=page):
                    entry = self._entry(found.path, found.metadata)
                    if found.path != (folder or "/") and entry.path > after:
                        yield entry
        except NotFound:  # Folders always exist.
            raise store_missing(self._name) from None

    def is_exact(self, path: str) -> bool:
        """The driver trims paths, and URLs have no parts that are empty or dots."""
        return path == path.strip() and not {"", ".", ".."} & set(path.split("/"))

    def stat(self, path: str) -> Entry | None:
        try:
            with self._translated(f"reading {path!r}"):
                return self._entry(path, self._client.stat(path))
        except NotFound:
            return None

    def read(self, file: SourceFile, start: int, size: int) -> bytes:
        return self._read_part(file, start, size, _quoted(file.version))

    def _read_part(self, file: SourceFile, start: int, size: int, if_match: str | None) -> bytes:
        options: dict[str, Any] = {"chunk": CHUNK_BYTES, "concurrent": AT_ONCE} if size > CHUNK_BYTES else {}
        try:
            with self._translated(f"reading {file.name!r}"):
                data: bytes = self._client.read(file.path, offset=start, size=size, if_match=if_match, **options)
        except (ConditionNotMatch, RangeNotSatisfied):
            raise changed(file, "was replaced while it was read") from None
        except NotFound:
            raise changed(file, "was deleted") from None
        except Unexpected as error:
            if not _has_more_than_asked(error):
                raise
            raise no_ranges(self._name, file) from None
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
        if entry is None:
            return None
        if entry.version is None:
            raise no_versions(self._name)
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

    def _entry(self, path: str, metadata: Any) -> Entry:
        if path.endswith("/"):
            return Entry(path)
        modified = metadata.last_modified
        stamp = int(modified.timestamp()) * 10**9 + modified.microsecond * 1000 if modified else 0
        return Entry(path, metadata.content_length, stamp, self._version_of(metadata))

    def _version_of(self, metadata: Any) -> str | None:
        """Return what changes with every write of an object."""
        etag = metadata.etag
        return etag.strip('"') if etag else None

    @contextmanager
    def _translated(self, what: str) -> Iterator[None]:
        """Translate the errors of the driver, but not those of missing or changed objects and of wrong parts."""
        try:
            yield
        except (NotFound, ConditionNotMatch, RangeNotSatisfied) as error:
            if _code(error) in _NO_CONTAINER:
                raise self._failure(error, what) from None
            raise
        except _ERRORS as error:
            if _has_more_than_asked(error):
                raise
            # The driver's text has addresses and headers of the request; no cause, so that no log shows it.
            raise self._failure(error, what) from None

    def _failure(self, error: Exception, what: str) -> Failure:
        code, text = _code(error), str(error)
        if code in _NO_CONTAINER or (isinstance(error, ConfigInvalid) and not code):
            return store_missing(self._name, _said(code))
        if code in _WRONG_KEYS:
            return credentials_refused(self._name, _said(code))
        if isinstance(error, PermissionDenied):
            return permission_denied(self._name, what, _said(code))
        if isinstance(error, RateLimited) or " (temporary)" in text or " (persistent)" in text:
            return unreachable(self._name, what)
        return store_failed(self._name, what, f"{type(error).__name__}{_said(code)}")


def _listed(client: opendal.Operator, folder: str, **options: Any) -> Iterator[Any]:
    """Yield the entries of a folder, with the asynchronous client: the other one keeps all threads of the process from
    running while it waits for the server."""
    loop = asyncio.new_event_loop()
    try:
        entries = loop.run_until_complete(_start(client.to_async_operator(), folder, options))
        while batch := loop.run_until_complete(_next(entries)):
            yield from batch
    finally:
        loop.close()


async def _start(client: opendal.AsyncOperator, folder: str, options: Mapping[str, Any]) -> AsyncIterator[Any]:
    return aiter(await client.list(folder, **options))


async def _next(entries: AsyncIterator[Any]) -> list[Any]:
    batch: list[Any] = []
    async for entry in entries:
        batch.append(entry)
        if len(batch) == BATCH_ENTRIES:
            break
    return batch


def raise_unusable(name: str) -> NoReturn:
    """Raise the failure for settings that the driver refuses; its text may repeat a secret."""
    raise Terminal(
        "source.store_unusable",
        f"The settings of connection {name!r} cannot be used.",
        hint="Check the address and the keys of the connection.",
    ) from None


def _quoted(version: str | None) -> str | None:
    return f'"{version}"' if version else None


def _has_more_than_asked(error: Exception) -> bool:
    """Return whether the server returned more than the requested part of an object."""
    found = _WRONG_SIZE.search(str(error))
    return bool(found and int(found[2]) > int(found[1]))


def _code(error: Exception) -> str:
    found = _CODE.search(str(error))
    return found[1] if found else ""


def _said(code: str) -> str:
    return f" ({code})" if code else ""
