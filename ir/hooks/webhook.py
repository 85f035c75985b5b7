"""The `webhook` hook: an https POST to a stored connection, or to an address without a secret."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Literal
from urllib.parse import urlsplit

from pydantic import Field

from ir.base import Id, Text
from ir.diagnostics import Diagnostic, diagnose
from ir.hooks.base import BaseHook
from ir.pointers import Pointer
from ir.webhook_addresses import is_public

_PATH = re.compile(r"(/(?!\.{1,2}(/|$))[A-Za-z0-9._~!$&'()*+,;=:@%-]+)+/?|/")
"""The path below a connection's base URL. It cannot contain dot segments."""


class Webhook(BaseHook):
    """Sends an HTTPS POST request."""

    type: Literal["webhook"]
    url: Text | None = Field(
        None,
        title="URL",
        description="A public https address without a secret. For an address with a secret, use a webhook connection.",
        examples=["https://example.com/loaded"],
    )
    connection: Id | None = Field(
        None, description="A stored webhook connection. Give a URL or a connection, not both."
    )
    path: Text | None = Field(None, description="Added to the URL of the connection.", examples=["/loaded"])

    def check(self, at: Pointer) -> Iterator[Diagnostic]:
        if (self.url is None) == (self.connection is None):
            yield diagnose("webhook.address", at, "A webhook needs either a url or a connection.")
        if self.path is not None and self.connection is None:
            yield diagnose("webhook.address", at / "path", "A path needs a connection.")
        elif self.path is not None and not _PATH.fullmatch(self.path):
            yield diagnose(
                "webhook.address", at / "path", "A path must begin with one slash, without query and dot segments."
            )
        if self.url is not None:
            yield from check_webhook_url(self.url, at / "url")


def check_webhook_url(url: str, at: Pointer) -> Iterator[Diagnostic]:
    """Check that requests may be sent to a URL and that it contains no visible secret. Messages do not show it: the
    part before an @ or after a ? may be one."""
    if not _is_bare(url):
        yield diagnose("webhook.address", at, "The URL must be https, without user, query and fragment.")
    elif not is_public(url):
        yield diagnose("webhook.not_public", at, "The address is not public, or has an unusual form.")


def _is_bare(url: str) -> bool:
    try:
        parts = urlsplit(url)
        return parts.scheme == "https" and bool(parts.hostname) and not {"@", "?", "#"} & set(url)
    except ValueError:
        return False
