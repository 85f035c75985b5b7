"""The `webhook` hook: an https POST, to a stored connection or to a bare address that holds no secret."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Literal
from urllib.parse import urlsplit

from ir.base import Id, Text
from ir.diagnostics import Diagnostic, diagnose
from ir.hooks.base import BaseHook
from ir.pointers import Pointer


class Webhook(BaseHook):
    type: Literal["webhook"]
    url: Text | None = None
    connection: Id | None = None
    path: Text | None = None

    def check(self, at: Pointer) -> Iterator[Diagnostic]:
        if (self.url is None) == (self.connection is None):
            yield diagnose("webhook.address", at, "A webhook has either a url or a connection.")
        if self.path is not None and self.connection is None:
            yield diagnose("webhook.address", at / "path", "A path goes with a connection.")
        if self.url is not None and not _is_bare(self.url):
            # The url itself is not shown: what stands before an @ or behind a ? may be a secret.
            yield diagnose("webhook.address", at / "url", "This is not an https url without user, query and fragment.")


def _is_bare(url: str) -> bool:
    try:
        parts = urlsplit(url)
        return parts.scheme == "https" and bool(parts.hostname) and not {"@", "?", "#"} & set(url)
    except ValueError:
        return False
