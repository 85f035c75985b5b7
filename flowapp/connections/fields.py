"""Parse connection URLs into fields. No message repeats any part of a URL, because it may contain a password."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from urllib.parse import SplitResult, parse_qsl, unquote, urlsplit

from ir.errors import FlowError

SCHEMES = ("postgresql", "postgres")
SSL_MODES = ("disable", "allow", "prefer", "require", "verify-ca", "verify-full")
DEFAULT_PORT = 5432
FORM = "postgresql://USER@HOST:PORT/DATABASE?sslmode=MODE"

_HOST = re.compile(r"[A-Za-z0-9._:-]{1,253}")
_BROKEN_ESCAPE = re.compile(r"%(?![0-9A-Fa-f]{2})")


class InvalidConnection(FlowError):
    """The given values do not form a valid connection."""


@dataclass(frozen=True, slots=True)
class ConnectionFields:
    """The fields of a connection as a user enters them. An empty password means that none was given."""

    kind: str
    host: str
    port: int
    database: str
    user: str
    password: str = field(default="", repr=False)
    sslmode: str = "prefer"


def parse_connection_url(url: str) -> ConnectionFields:
    """Parse `postgresql://USER[:PASSWORD]@HOST[:PORT]/DATABASE[?sslmode=MODE]`. Raises InvalidConnection."""
    parts = _split(url.strip())
    user, password = _user_info(parts)
    return ConnectionFields(
        kind="postgres",
        host=_host(parts),
        port=_port(parts),
        database=_database(parts),
        user=user,
        password=password,
        sslmode=_sslmode(parts),
    )


def require_host(host: str) -> None:
    """Require a single host: no list and no socket folder, although libpq accepts both. Raises InvalidConnection."""
    if not _HOST.fullmatch(host):
        raise InvalidConnection(
            "connection.host_invalid",
            "The host must be a single name or address.",
            hint="Write it without port, user or slashes, such as db.example.com or 10.0.0.5.",
        )


def _split(url: str) -> SplitResult:
    try:
        parts = urlsplit(url)
    except ValueError:
        raise _unreadable("its host cannot be read") from None
    if parts.scheme not in SCHEMES:
        raise _unreadable(f"it must begin with {' or '.join(f'{s}://' for s in SCHEMES)}")
    if _BROKEN_ESCAPE.search(url):
        raise _unreadable("a % is not followed by two hexadecimal digits")
    if parts.fragment or url.count("@") != 1 or "@" not in parts.netloc or any(c.isspace() for c in url):
        raise _unreadable("it must contain exactly one @, between user and host, no spaces and no fragment")
    return parts


def _user_info(parts: SplitResult) -> tuple[str, str]:
    user, _, password = parts.netloc.rpartition("@")[0].partition(":")
    if not user:
        raise _unreadable("the user is missing")
    return _decoded(user), _decoded(password)


def _host(parts: SplitResult) -> str:
    host = parts.hostname or ""
    if not _HOST.fullmatch(host):
        raise _unreadable("it needs exactly one host, by name or address")
    return host


def _port(parts: SplitResult) -> int:
    try:
        port = parts.port
    except ValueError:
        raise _unreadable("the port is not a number from 1 to 65535") from None
    if port == 0:
        raise _unreadable("the port is not a number from 1 to 65535")
    return port or DEFAULT_PORT


def _database(parts: SplitResult) -> str:
    path = parts.path.removeprefix("/")
    if not path or "/" in path:
        raise _unreadable("it needs exactly one database")
    return _decoded(path)


def _sslmode(parts: SplitResult) -> str:
    options = parse_qsl(parts.query, keep_blank_values=True)
    others = [name for name, _ in options if name != "sslmode"]
    if others or len(options) > 1:
        raise InvalidConnection(
            "connection.option_refused",
            "The connection URL has options that are not allowed.",
            hint="Only sslmode is allowed, once. Flow sets everything else.",
        )
    mode = options[0][1] if options else "prefer"
    if mode not in SSL_MODES:
        raise InvalidConnection(
            "connection.sslmode_unknown",
            "The sslmode of the connection URL is unknown.",
            hint=f"Known: {', '.join(SSL_MODES)}.",
        )
    return mode


def _decoded(text: str) -> str:
    try:
        decoded = unquote(text, errors="strict")
    except UnicodeDecodeError:
        raise _unreadable("its escapes are not UTF-8") from None
    if "\x00" in decoded:
        raise _unreadable("it contains a NUL character")
    return decoded


def _unreadable(why: str) -> InvalidConnection:
    return InvalidConnection(
        "connection.url_invalid",
        f"The connection URL cannot be read: {why}.",
        hint=f"Write {FORM} with @ : / ? # % and spaces in names and passwords percent-encoded (@ is %40), "
        "and give the password by --password-stdin or FLOW_CONNECTION_PASSWORD.",
    )
