"""Sends requests to web servers: to public addresses, and to the server of the connection, which an admin chose."""

from __future__ import annotations

import base64
import logging
import re
import socket
import time
import weakref
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from functools import cached_property
from ipaddress import ip_network
from threading import Lock
from typing import Any
from urllib.parse import parse_qsl, unquote, urlencode, urljoin, urlsplit

import httpx
from ssrfguard import Policy, SSRFGuardError
from ssrfguard.httpx import Client

from executors.connection_failures import describe_connection_failure
from executors.errors import Failure, Terminal
from executors.model import StoreConnection
from executors.stores.failures import unreachable

# Both log the full URL of each request.
for _name in ("httpx", "httpcore"):
    logging.getLogger(_name).setLevel(logging.WARNING)

SILENT_SECONDS, TRANSFER_SECONDS = 20.0, 120.0
"""How long a server may send nothing, and how long one response may take."""
MOST_REDIRECTS = 5
PASSING = frozenset({408, 425, 429})
"""Statuses below 500 after which a request may be sent again."""

_CONNECTED = frozenset({"connection.connect_tcp.complete", "connection.start_tls.complete"})
_REDIRECTS = frozenset({301, 302, 303, 307, 308})
_OWN_HEADERS = frozenset(
    {"accept-encoding", "connection", "content-length", "host", "if-match", "if-range", "range", "transfer-encoding"}
)
_HEADER_NAME = re.compile(r"[A-Za-z0-9!#$%&'*+.^_`|~-]{1,100}")
_USER = re.compile(r"//[^/]*@")
_PORTS = frozenset(range(1, 65536))
PUBLIC = Policy(allowed_ports=_PORTS)
_ANY = (ip_network("0.0.0.0/0"), ip_network("::/0"))
NO_CONNECTION = StoreConnection("", "http", {"url": "", "user": ""})
"""Reaches public addresses only."""


class HttpClient:
    """Sends GET requests. The secrets of the connection are sent only to its URL and to those below it, also after
    redirects."""

    def __init__(self, connection: StoreConnection) -> None:
        """Raises Terminal `source.store_unusable`."""
        self.base = str(connection.settings["url"])
        if self.base and not self.base.endswith("/"):
            self.base += "/"
        self._secrets = _secret_headers(connection)
        self._parameters = _secret_parameters(connection)
        self._sockets: weakref.WeakSet[socket.socket] = weakref.WeakSet()
        self._is_aborted, self._lock = False, Lock()

    @property
    def name(self) -> str:
        return f"Web server {urlsplit(self.base).hostname}" if self.base else "The web server"

    @contextmanager
    def response(self, url: str, headers: Mapping[str, str]) -> Iterator[httpx.Response]:
        """Send a GET and follow its redirects, each of which is checked like the first address."""
        at = url
        for _ in range(MOST_REDIRECTS + 1):
            with self._translated(at), self._sent(at, headers) as response:
                if response.status_code not in _REDIRECTS:
                    yield response
                    return
                to = resolved(at, response.headers.get("location", ""))
            if to is None:
                raise _redirected(f"{shown(url)} leads to something that is not an address.")
            if urlsplit(at).scheme == "https" and urlsplit(to).scheme != "https":
                raise _redirected(f"{shown(url)} leads from https to another protocol.")
            at = to
        raise _redirected(f"{shown(url)} redirects more than {MOST_REDIRECTS} times.")

    def is_below(self, url: str) -> bool:
        """Return whether an address is that of the connection, or below it."""
        if not self.base or origin_of(url) != origin_of(self.base) or has_dots(url):
            return False
        return url.startswith(self.base) or url.partition("?")[0] == self.base.removesuffix("/")

    def lacks_secrets(self, url: str) -> bool:
        """Return whether the connection has secrets that an address would not get."""
        return bool(self._secrets or self._parameters) and not self.is_below(url)

    def without_secrets(self, url: str) -> str:
        """Return an address without the secret parameters that were added to it."""
        parts = urlsplit(url)
        given = parse_qsl(parts.query, keep_blank_values=True)
        others = [(name, value) for name, value in given if self._parameters.get(name) != value]
        return url if others == given else parts._replace(query=urlencode(others)).geturl()

    def body(self, response: httpx.Response, url: str, most: int) -> bytes | None:
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
        if self._is_aborted:  # the end may be that of the connection
            raise unreachable(self.name, f"reading {shown(url)}")
        return b"".join(parts)

    def abort(self) -> None:
        """End the request that is being sent, from another thread, and refuse further ones. A time limit for each read
        would not end a response that arrives byte by byte."""
        with self._lock:
            self._is_aborted = True
            for connected in self._sockets:
                _shut_down(connected)

    def require_ok(self, response: httpx.Response, url: str) -> None:
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
        if status >= 500 or status in PASSING:
            raise unreachable(self.name, f"{what} ({status})")
        raise Terminal(
            "source.store_failed",
            f"{self.name} returns {status} for {shown(url)}.",
            hint="Check the address of the source. Test the connection.",
        )

    @contextmanager
    def _sent(self, url: str, headers: Mapping[str, str]) -> Iterator[httpx.Response]:
        is_own = bool(self.base) and origin_of(url) == origin_of(self.base)
        client = self._own_client if is_own else self._public_client
        sent = {"accept-encoding": "identity", "user-agent": "Flow", **headers}
        if self.is_below(url):
            sent, url = {**self._secrets, **sent}, _with_parameters(url, self._parameters)
        elif self.without_secrets(url) != url:
            raise _redirected(f"An address that is not below {shown(self.base)} would get a secret parameter.")
        if self._is_aborted:
            raise unreachable(self.name, f"reading {shown(url)}")
        request = client.build_request("GET", url, headers=sent, extensions={"trace": self._watch})
        try:
            response = client.send(request, stream=True)
        except (httpx.RemoteProtocolError, httpx.ReadError, httpx.WriteError):
            if self._is_aborted:
                raise
            response = client.send(request, stream=True)  # the server had closed an idle connection
        try:
            yield response
        finally:
            response.close()

    def _watch(self, event: str, info: Mapping[str, Any]) -> None:
        """Remember the sockets of new connections."""
        if event in _CONNECTED:
            connected = info["return_value"].get_extra_info("socket")
            with self._lock:
                self._sockets.add(connected)
                if self._is_aborted:
                    _shut_down(connected)

    @cached_property
    def _public_client(self) -> httpx.Client:
        return self._opened(PUBLIC)

    @cached_property
    def _own_client(self) -> httpx.Client:
        """It may reach a private network, but no other server."""
        host = frozenset({urlsplit(self.base).hostname or ""})
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


def _shut_down(connected: socket.socket) -> None:
    with suppress(OSError):
        connected.shutdown(socket.SHUT_RDWR)


def shown(url: str) -> str:
    """Return an address for messages, without its user and its query, which may be secret."""
    return unquote(_USER.sub("//", url.partition("?")[0], count=1))


def resolved(base: str, to: str) -> str | None:
    """Return the address that a server names in a response of `base`; None if it is not an address."""
    try:
        found = urljoin(base, to).partition("#")[0]
        origin_of(found)
        found.encode()
    except ValueError:
        return None
    return found


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


def _secret_parameters(connection: StoreConnection) -> dict[str, str]:
    """Return the secret query parameters. Raises Terminal `source.store_unusable`, without repeating them."""
    found = {}
    for line in filter(str.strip, connection.secrets.get("parameters", "").splitlines()):
        name, equals, value = (part.strip() for part in line.partition("="))
        if not (name and equals):
            raise _unusable(connection, "One of the parameters does not have the form name=value.")
        found[name] = value
    return found


def _with_parameters(url: str, parameters: Mapping[str, str]) -> str:
    """Add parameters that the URL does not have. A server may repeat them in the URL of the next page."""
    given = {name for name, _ in parse_qsl(urlsplit(url).query, keep_blank_values=True)}
    added = urlencode({name: value for name, value in parameters.items() if name not in given})
    return f"{url}{'&' if '?' in url else '?'}{added}" if added else url


def _unusable(connection: StoreConnection, why: str) -> Terminal:
    return Terminal(
        "source.store_unusable",
        f"The settings of connection {connection.name!r} cannot be used. {why}",
        hint="Check the address and the secrets of the connection.",
    )


def _redirected(why: str) -> Terminal:
    return Terminal("source.redirect_refused", why, hint="Use the address that the server redirects to.")


def origin_of(url: str) -> tuple[str, str | None, int]:
    parts = urlsplit(url)
    return parts.scheme, parts.hostname, parts.port or (443 if parts.scheme == "https" else 80)


def has_dots(url: str) -> bool:
    """Return whether a server could read the path of a URL as one above it."""
    path = unquote(unquote(urlsplit(url).path)).replace("\\", "/")
    return any(part in (".", "..") for part in path.split("/"))
