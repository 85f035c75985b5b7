"""The fields of a webhook and their validation. It imports no models: the command line uses it before Django is set
up."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field

from django.views.decorators.debug import sensitive_variables

from flowapp.connections.fields import InvalidConnection
from ir.hooks.webhook import check_webhook_url
from ir.pointers import ROOT

WEBHOOK = "webhook"
MOST_HEADERS = 20
LONGEST_HEADER = 2000
RESERVED_HEADERS = frozenset(
    {
        "connection",
        "content-length",
        "content-type",
        "expect",
        "host",
        "idempotency-key",
        "te",
        "trailer",
        "transfer-encoding",
        "upgrade",
        "user-agent",
        "webhook-id",
        "webhook-signature",
        "webhook-timestamp",
    }
)
"""Headers that Flow sets itself."""

_HEADER_NAME = re.compile(r"[A-Za-z0-9!#$%&'*+.^_`|~-]{1,100}")
_HEADER_VALUE = re.compile(r"[\x21-\x7e]([\x20-\x7e]*[\x21-\x7e])?")


@dataclass(frozen=True, slots=True)
class WebhookFields:
    """The fields of a webhook as a user enters them. Without a secret, requests are not signed."""

    url: str = field(repr=False)
    headers: Mapping[str, str] = field(default_factory=dict, repr=False)
    secret: str = field(default="", repr=False)
    kind: str = WEBHOOK


@sensitive_variables()
def require_webhook(fields: WebhookFields) -> None:
    """Refuse addresses that Flow may not call and invalid headers. Raises InvalidConnection."""
    _require_url(fields.url)
    _require_headers(fields.headers)


def parse_headers(text: str) -> dict[str, str] | None:
    """Parse headers, one per line; return None if a line is no header."""
    headers = {}
    for line in filter(str.strip, text.splitlines()):
        name, colon, value = line.partition(":")
        if not colon:
            return None
        headers[name.strip()] = value.strip()
    return headers


def _require_url(url: str) -> None:
    for diagnostic in check_webhook_url(url, ROOT):
        raise InvalidConnection("connection.url_invalid", diagnostic.message, hint=diagnostic.hint)


def _require_headers(headers: Mapping[str, str]) -> None:
    if len(headers) > MOST_HEADERS:
        raise _headers_invalid(f"There are {len(headers)} headers; a connection has up to {MOST_HEADERS}.")
    for name, value in headers.items():
        if not _HEADER_NAME.fullmatch(name):
            raise _headers_invalid(f"{name[:60]!r} is not a valid name for a header.")
        if name.lower() in RESERVED_HEADERS:
            raise _headers_invalid(f"The header {name} is the request's own.")
        if not _HEADER_VALUE.fullmatch(value) or len(value) > LONGEST_HEADER:
            raise _headers_invalid(f"The value of the header {name} is empty, too long or not plain ASCII.")


def _headers_invalid(message: str) -> InvalidConnection:
    return InvalidConnection(
        "connection.headers_invalid", message, hint="Write one header per line, such as `Authorization: Bearer …`."
    )
