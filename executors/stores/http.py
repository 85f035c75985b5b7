"""Files of web servers."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from email.utils import parsedate_to_datetime
from heapq import nsmallest
from urllib.parse import quote, unquote, urljoin

import httpx

from executors.errors import Terminal
from executors.formats.files import changed
from executors.model import SourceFile, StoreConnection
from executors.stores.base import Entry, Store
from executors.stores.failures import no_ranges
from executors.stores.http_client import HttpClient, shown
from executors.stores.web_index import links_of

WHOLE_BYTES = 8 << 20
"""The largest file that is read in one response, from servers that return no parts."""
INDEX_BYTES = 16 << 20

_PART = re.compile(r"bytes (\d+)-(\d+)/(\d+)")
_HASHED = "sha256:"


def open_store(connection: StoreConnection) -> HttpStore:
    """Raises Terminal `source.store_unusable`."""
    return HttpStore(connection)


@dataclass(frozen=True, slots=True)
class _Found:
    """A file as a response describes it. `version` is None if the server names none. `body` is given if all of the file
    was read."""

    size: int
    mtime_ns: int
    version: str | None
    body: bytes | None = None


class HttpStore(Store):
    """The files of web servers. A path is a URL, or relative to the URL of the connection."""

    def __init__(self, connection: StoreConnection) -> None:
        self._client = HttpClient(connection)

    @property
    def name(self) -> str:
        return self._client.name

    def list(self, folder: str, after: str = "", page: int | None = None) -> Iterator[Entry]:
        """The entries are the links of the page of the folder, without sizes; none if there is no such folder. Raises
        Terminal `source.index_unreadable` if there is no page at the root."""
        base = urljoin(self._client.base, quote(folder))
        links = self.links(base, folders=True)
        if links is None:
            if folder:
                return
            raise Terminal(
                "source.index_unreadable",
                f"There is no page at {shown(base)} (404), so the secrets were not tested either.",
                hint="Sources can name files and services below this address. Run one of them to test it.",
            )
        found = (Entry(unquote(link.removeprefix(self._client.base))) for link in links)
        entries = (entry for entry in found if entry.path > after)
        yield from nsmallest(page, entries, key=lambda entry: entry.path) if page else entries

    def links(self, index: str, *, folders: bool = False) -> tuple[str, ...] | None:
        """Return the URLs below a page that it links to, of files or also of folders; None if the page does not exist.
        Raises Terminal `source.index_unreadable`."""
        with self._client.response(index, {}) as response:
            if response.status_code in (404, 410):
                return None
            self._client.require_ok(response, index)
            body = self._client.body(response, index, INDEX_BYTES)
            if body is None:
                raise Terminal(
                    "source.index_unreadable",
                    f"The page {shown(index)} has more than {INDEX_BYTES >> 20} MB.",
                    hint="Use several smaller pages, or name the files with urls.",
                )
            return tuple(links_of(body, response.headers.get("content-type", ""), index, folders=folders))

    def stat(self, path: str) -> Entry | None:
        found = self._stat(self._url(path))
        return None if found is None else Entry(path, found.size, found.mtime_ns, found.version)

    def read(self, file: SourceFile, start: int, size: int) -> bytes:
        url = self._url(file.path)
        # Without a version in the responses, only the whole file shows that it is the same.
        is_whole = (file.version or "").startswith(_HASHED)
        headers = {} if is_whole else {"range": f"bytes={start}-{start + size - 1}"}
        if file.version and file.version.startswith('"'):
            headers["if-match"] = file.version
        with self._client.response(url, headers) as response:
            if response.status_code in (404, 410):
                raise changed(file, "was deleted")
            if response.status_code in (412, 416):
                raise changed(file, "was replaced while it was read")
            self._client.require_ok(response, url)
            if response.status_code == 206:
                return self._part(response, file, start, size)
            found = self._whole(response, url)
        if found is None or found.body is None:
            raise no_ranges(self.name, file)
        if (found.size, found.version) != (file.size, file.version):
            raise changed(file, "was replaced while it was read")
        return found.body[start : start + size]

    def _url(self, path: str) -> str:
        return path if path.startswith(("http://", "https://")) else urljoin(self._client.base, quote(path))

    def _part(self, response: httpx.Response, file: SourceFile, start: int, size: int) -> bytes:
        part = _PART.fullmatch(response.headers.get("content-range", ""))
        if part is None or (int(part[1]), int(part[2])) != (start, start + size - 1):
            raise no_ranges(self.name, file)
        # Not all servers obey If-Match, so every part is compared.
        if int(part[3]) != file.size or _version_of(response.headers) != file.version:
            raise changed(file, "was replaced while it was read")
        data = self._client.body(response, file.path, size)
        if data is None or len(data) != size:
            raise no_ranges(self.name, file)
        return data

    # --- what a response says ---------------------------------------------------------------------------------

    def _stat(self, url: str) -> _Found | None:
        with self._client.response(url, {"range": "bytes=0-0"}) as response:
            if response.status_code in (404, 410):
                return None
            if response.status_code == 416 and response.headers.get("content-range") == "bytes */0":
                return _Found(0, _mtime_of(response.headers), _version_of(response.headers) or _hash(b""))
            self._client.require_ok(response, url)
            part = _PART.fullmatch(response.headers.get("content-range", ""))
            version = _version_of(response.headers)
            if response.status_code == 206 and part is not None and version is not None:
                return _Found(int(part[3]), _mtime_of(response.headers), version)
            found = self._whole(response, url) if response.status_code == 200 else None
        if found is None and response.status_code == 206:  # parts, but of what cannot be said
            with self._client.response(url, {}) as response:
                self._client.require_ok(response, url)
                found = self._whole(response, url)
        if found is None:
            raise Terminal(
                "source.no_ranges",
                f"{shown(url)} has more than {WHOLE_BYTES >> 20} MB, and its server returns no parts of one version.",
                hint="Large files need range requests, and an ETag or the time of the last change in each response.",
            )
        return found

    def _whole(self, response: httpx.Response, url: str) -> _Found | None:
        """Read a whole file. Return None if it is too large for that."""
        if int(response.headers.get("content-length") or 0) > WHOLE_BYTES:
            return None
        body = self._client.body(response, url, WHOLE_BYTES)
        if body is None:
            return None
        version = _version_of(response.headers) or _hash(body)
        return _Found(len(body), _mtime_of(response.headers), version, body)


def _version_of(headers: Mapping[str, str]) -> str | None:
    """Return the strong ETag, with its quotes, or the time of the last change; None if there is neither."""
    etag = headers.get("etag", "")
    if etag.startswith('"'):
        return etag
    return headers.get("last-modified") or None


def _mtime_of(headers: Mapping[str, str]) -> int:
    """Return the time of the last change in nanoseconds; 0 if it is unknown."""
    try:
        return int(parsedate_to_datetime(headers.get("last-modified", "")).timestamp()) * 10**9
    except ValueError:
        return 0


def _hash(body: bytes) -> str:
    return f"{_HASHED}{hashlib.sha256(body).hexdigest()}"
