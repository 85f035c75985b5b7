"""Answers to requests that Django never sees."""

from __future__ import annotations

import json
import logging
from collections.abc import Awaitable, Callable, MutableMapping
from dataclasses import dataclass
from typing import Any

from django.conf import settings
from django.template.loader import render_to_string

from flowapp.api.problems import CONTENT_TYPE, problem

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Refusal:
    """`retry_after` are seconds after which the same request may pass, 0 for one that never will."""

    status: int
    code: str
    title: str
    message: str
    hint: str
    retry_after: int = 0

    async def answer(
        self, scope: MutableMapping[str, Any], send: Callable[[MutableMapping[str, Any]], Awaitable[None]]
    ) -> None:
        logger.info("%s %s answered %s: %s", scope["method"], scope["path"], self.status, self.code)
        kind, body = self._body(scope)
        headers = [(b"content-type", kind.encode()), (b"content-length", str(len(body)).encode())]
        headers += [(b"retry-after", str(self.retry_after).encode())] if self.retry_after else []
        headers += [(b"connection", b"close"), (b"x-content-type-options", b"nosniff")]
        await send({"type": "http.response.start", "status": self.status, "headers": headers})
        await send({"type": "http.response.body", "body": body})

    def _body(self, scope: MutableMapping[str, Any]) -> tuple[str, bytes]:
        message = self.message.format(bytes=f"{settings.BODY_BYTES:,}")
        if scope["path"].startswith("/api/"):
            told = problem(self.status, self.code, message, hint=self.hint)
            return CONTENT_TYPE, json.dumps(told).encode()
        return "text/html; charset=utf-8", self.page(message, is_part=(b"hx-request", b"true") in scope["headers"])

    def page(self, message: str, *, is_part: bool) -> bytes:
        """A page of its own, which asks neither the session nor the database, or a message for a page that is open."""
        name = "errors/_refused.html" if is_part else "errors/refused.html"
        return render_to_string(name, {"refusal": self, "message": message}).encode()


REFUSALS = {
    "too_large": Refusal(
        413, "request.too_large", "The request is too large", "A request has at most {bytes} bytes here.",
        "Files are sent by those who may, through Files → Upload a file or POST /api/files/upload/.",
    ),
    "too_many": Refusal(
        429, "request.too_many", "Too many requests at once",
        "As many requests of yours are being answered as there may be at once.",
        "Wait for the answers, then send this one again.", retry_after=5,
    ),
    "busy": Refusal(
        503, "server.busy", "Flow is busy", "There was no room for this request within some seconds.",
        "Nothing was changed. Send it again in a while.", retry_after=5,
    ),
}  # fmt: skip
