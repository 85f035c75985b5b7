"""Files of web servers. Requests reach public addresses, and the server of the connection, which an admin chose."""

from __future__ import annotations

import base64
import hashlib
import logging
import re
import time
import weakref
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from email.utils import parsedate_to_datetime
from functools import cached_property
from heapq import nsmallest
from ipaddress import ip_network
from urllib.parse import quote, unquote, urljoin, urlsplit

import httpx
from ssrfguard import Policy, SSRFGuardError
from ssrfguard.httpx import Client

from executors.connection_failures import describe_connection_failure
from executors.errors import Failure, Terminal
from executors.formats.files import changed
from executors.model import SourceFile, StoreConnection
from executors.stores.base import Entry, Store
from executors.stores.failures import no_ranges, unreachable
from executors.stores.web_index import links_of

# Both log the full URL of each request.
for _name in ("httpx", "httpcore"):
    logging.getLogger(_name).setLevel(logging.WARNING)

SILENT_SECONDS, TRANSFER_SECONDS = 20.0, 120.0
"""How long a server may send nothing, and how long one response may take."""
MOST_REDIRECTS = 5
WHOLE_BYTES = 8 << 20
"""The largest file that is read in one response, from servers that return no parts."""
INDEX_BYTES = 16 << 20

_PASSING = frozenset({408, 425, 429})
_REDIRECTS = frozenset({301, 302, 303, 307, 308})
_OWN_HEADERS = frozenset(
    {"accept-encoding", "connection", "content-length", "host", "if-match", "if-range", "range", "transfer-encoding"}
)
_HEADER_NAME = re.compile(r"[A-Za-z0-9!#$%&'*+.^_`|~-]{1,100}")
_PART = re.compile(r"bytes (\d+)-(\d+)/(\d+)")
_HASHED = "sha256:"
_PORTS = frozenset(range(1, 65536))
PUBLIC = Policy(allowed_ports=_PORTS)
_ANY = (ip_network("0.0.0.0/0"), ip_network("::/0"))


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
    """The files of web servers. A path is a URL, or relative to the URL of the connection. The secrets of the
    connection are sent only to its URL and to those below it, also after redirects."""

    def __init__(self, connection: StoreConnection) -> None:
        self._base = str(connection.settings["url"])
        if self._base and not self._base.endswith("/"):
            self._base += "/"
        self._secrets = _secret_headers(connection)

    @property
    def name(self) -> str:
        return f"Web server {urlsplit(self._base).hostname}" if self._base else "The web server"

    def list(self, folder: str, after: str = "", page: int | None = None) -> Iterator[Entry]:
        """The entries are the links of the page of the folder, without sizes; none if there is no such page."""
        base = urljoin(self._base, quote(folder))
        links = self.links(base, folders=True) or ()
        found = (Entry(unquote(link.removeprefix(self._base))) for link in links)
        entries = (entry for entry in found if entry.path > after)
        yield from nsmallest(page, entries, key=lambda entry: entry.path) if page else entries

    def links(self, index: str, *, folders: bool = False) -> tuple[str, ...] | None:
        """Return the URLs below a page that it links to, of files or also of folders; None if the page does not exist.
        Raises Terminal `source.index_unreadable`."""
        with self._response(index, {}) as response:
            if response.status_code in (404, 410):
                return None
            self._require_ok(response, index)
            body = self._body(response, index, INDEX_BYTES)
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
        with self._response(url, headers) as response:
            if response.status_code in (404, 410):
                raise changed(file, "was deleted")
            if response.status_code in (412, 416):
                raise changed(file, "was replaced while it was read")
            self._require_ok(response, url)
            if response.status_code == 206:
                return self._part(response, file, start, size)
            found = self._whole(response, url)
        if found is None or found.body is None:
            raise no_ranges(self.name, file)
        if (found.size, found.version) != (file.size, file.version):
            raise changed(file, "was replaced while it was read")
        return found.body[start : start + size]

    def _part(self, response: httpx.Response, file: SourceFile, start: int, size: int) -> bytes:
        part = _PART.fullmatch(response.headers.get("content-range", ""))
        if part is None or (int(part[1]), int(part[2])) != (start, start + size - 1):
            raise no_ranges(self.name, file)
        # Not all servers obey If-Match, so every part is compared.
        if int(part[3]) != file.size or _version_of(response.headers) != file.version:
            raise changed(file, "was replaced while it was read")
        data = self._body(response, file.path, size)
        if data is None or len(data) != size:
            raise no_ranges(self.name, file)
        return data

    # --- what a response says ---------------------------------------------------------------------------------

    def _stat(self, url: str) -> _Found | None:
        with self._response(url, {"range": "bytes=0-0"}) as response:
            if response.status_code in (404, 410):
                return None
            if response.status_code == 416 and response.headers.get("content-range") == "bytes */0":
                return _Found(0, _mtime_of(response.headers), _version_of(response.headers) or _hash(b""))
            self._require_ok(response, url)
            part = _PART.fullmatch(response.headers.get("content-range", ""))
            version = _version_of(response.headers)
            if response.status_code == 206 and part is not None and version is not None:
                return _Found(int(part[3]), _mtime_of(response.headers), version)
            found = self._whole(response, url) if response.status_code == 200 else None
        if found is None and response.status_code == 206:  # parts, but of what cannot be said
            with self._response(url, {}) as response:
                self._require_ok(response, url)
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
        body = self._body(response, url, WHOLE_BYTES)
        if body is None:
            return None
        version = _version_of(response.headers) or _hash(body)
        return _Found(len(body), _mtime_of(response.headers), version, body)

    def _body(self, response: httpx.Response, url: str, most: int) -> bytes | None:
        """Return the body; None if it is longer than `most` bytes."""
        encoding = response.headers.get("content-encoding", "identity").lower()
        if encoding not in ("", "identity"):
            raise Terminal(
                "source.content_encoded",
                f"The server sends {shown(url)} with the content encoding {encoding[:20]!r}, which was not asked for.",
                hint="Let the server send stored bytes. Compressed files need no content encoding.",
            )
        parts, size, deadline = [], 0, time.monotonic() + TRANSFER_SECONDS
        for chunk in response.iter_raw():
            parts.append(chunk)
            size += len(chunk)
            if size > most:
                return None
            if time.monotonic() > deadline:
                raise unreachable(self.name, f"reading {shown(url)}")
        return b"".join(parts)

    def _require_ok(self, response: httpx.Response, url: str) -> None:
        status, what = response.status_code, f"reading {shown(url)}"
        if status in (200, 206):
            return
        if status == 401:
            raise Terminal(
                "source.credentials_refused",
                f"{self.name} refuses the credentials for {shown(url)} (401).",
                hint="Choose a connection with a password or token for this address, or replace its secret.",
            )
        if status == 403:
            raise Terminal(
                "source.permission_denied",
                f"{self.name} does not permit {what} (403).",
                hint="Give the user of the connection this permission.",
            )
        if status >= 500 or status in _PASSING:
            raise unreachable(self.name, f"{what} ({status})")
        raise Terminal(
            "source.store_failed",
            f"{self.name} returns {status} for {shown(url)}.",
            hint="Check the address of the source. Test the connection.",
        )

    # --- requests ---------------------------------------------------------------------------------------------

    def _url(self, path: str) -> str:
        return path if path.startswith(("http://", "https://")) else urljoin(self._base, quote(path))

    @contextmanager
    def _response(self, url: str, headers: Mapping[str, str]) -> Iterator[httpx.Response]:
        """Send a GET and follow its redirects, each of which is checked like the first address."""
        at = url
        for _ in range(MOST_REDIRECTS + 1):
            with self._translated(at), self._sent(at, headers) as response:
                if response.status_code not in _REDIRECTS:
                    yield response
                    return
                to = urljoin(at, response.headers.get("location", ""))
            if urlsplit(at).scheme == "https" and urlsplit(to).scheme != "https":
                raise _redirected(f"{shown(url)} leads from https to another protocol.")
            at = to
        raise _redirected(f"{shown(url)} redirects more than {MOST_REDIRECTS} times.")

    @contextmanager
    def _sent(self, url: str, headers: Mapping[str, str]) -> Iterator[httpx.Response]:
        is_own = bool(self._base) and _origin(url) == _origin(self._base)
        client = self._own_client if is_own else self._public_client
        sent = {"accept-encoding": "identity", "user-agent": "Flow", **headers}
        if is_own and url.startswith(self._base) and not _has_dots(url):
            sent = {**self._secrets, **sent}
        request = client.build_request("GET", url, headers=sent)
        try:
            response = client.send(request, stream=True)
        except (httpx.RemoteProtocolError, httpx.ReadError, httpx.WriteError):
            response = client.send(request, stream=True)  # the server had closed an idle connection
        try:
            yield response
        finally:
            response.close()

    @cached_property
    def _public_client(self) -> httpx.Client:
        return self._opened(PUBLIC)

    @cached_property
    def _own_client(self) -> httpx.Client:
        """It may reach a private network, but no other server."""
        host = frozenset({urlsplit(self._base).hostname or ""})
        return self._opened(Policy(allowed_ports=_PORTS, allowed_hosts=host, allowed_networks=_ANY))

    def _opened(self, policy: Policy) -> httpx.Client:
        client = Client(policy=policy, trust_env=False, follow_redirects=False, timeout=SILENT_SECONDS, retries=1)
        weakref.finalize(self, client.close)
        return client

    @contextmanager
    def _translated(self, url: str) -> Iterator[None]:
        """Translate the errors of the client. Their texts may contain the URL with its query."""
        try:
            yield
        except SSRFGuardError:
            raise Terminal(
                "source.not_public",
                f"{shown(url)} is not a public address, so nothing was sent.",
                hint="Let an admin add a connection to this server, and choose it in the source.",
            ) from None
        except httpx.InvalidURL:
            raise _redirected(f"{shown(url)} is not an address that can be called.") from None
        except httpx.HTTPError as error:
            raise self._failure(error, url) from None

    def _failure(self, error: httpx.HTTPError, url: str) -> Failure:
        if isinstance(error, httpx.TimeoutException):
            return unreachable(self.name, f"reading {shown(url)}")
        host, port = urlsplit(url).hostname, urlsplit(url).port or 443
        why = describe_connection_failure(error, f"{host}:{port}", ended=(httpx.RemoteProtocolError, httpx.ReadError))
        if why.code == "tls":
            return Terminal("source.store_failed", why.message, hint=why.hint)
        return unreachable(self.name, f"reading {shown(url)}")


def shown(url: str) -> str:
    """Return an address for messages, without its query, which may be secret."""
    return unquote(url.partition("?")[0])


def _secret_headers(connection: StoreConnection) -> dict[str, str]:
    """Return the headers with the secrets. Raises Terminal `source.store_unusable`, without repeating them."""
    secrets, found = connection.secrets, {}
    for line in filter(str.strip, secrets.get("headers", "").splitlines()):
        name, colon, value = (part.strip() for part in line.partition(":"))
        is_valid = value.isascii() and value.isprintable() and _HEADER_NAME.fullmatch(name)
        if not (colon and is_valid) or name.lower() in _OWN_HEADERS:
            raise _unusable(connection, "One of the headers is not valid, or is the request's own.")
        found[name.lower()] = value
    if secrets.get("token") and secrets.get("password"):
        raise _unusable(connection, "There are a token and a password; only one of them can be sent.")
    if token := secrets.get("token"):
        if not (token.isascii() and token.isprintable()):
            raise _unusable(connection, "The token has characters that a header cannot contain.")
        found["authorization"] = f"Bearer {token}"
    elif connection.settings["user"] or secrets.get("password"):
        pair = f"{connection.settings['user']}:{secrets.get('password', '')}".encode()
        found["authorization"] = f"Basic {base64.b64encode(pair).decode()}"
    return found


def _unusable(connection: StoreConnection, why: str) -> Terminal:
    return Terminal(
        "source.store_unusable",
        f"The settings of connection {connection.name!r} cannot be used. {why}",
        hint="Check the address and the secrets of the connection.",
    )


def _redirected(why: str) -> Terminal:
    return Terminal("source.redirect_refused", why, hint="Use the address that the server redirects to.")


def _origin(url: str) -> tuple[str, str | None, int]:
    parts = urlsplit(url)
    return parts.scheme, parts.hostname, parts.port or (443 if parts.scheme == "https" else 80)


def _has_dots(url: str) -> bool:
    """Return whether a server could read the path of a URL as one above it."""
    path = unquote(unquote(urlsplit(url).path)).replace("\\", "/")
    return any(part in (".", "..") for part in path.split("/"))


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
