"""Responses to requests that are refused before Django reads them."""

from __future__ import annotations

import asyncio
import json
import logging
from collections.abc import Awaitable, Callable, MutableMapping
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from django.conf import settings
from django.template.loader import render_to_string

from flowapp.web.problems import CONTENT_TYPE, problem

logger = logging.getLogger(__name__)

Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]

_DRAINED = 64_000_000
_DRAIN_SECONDS = 5.0


async def _drain(receive: Receive) -> None:
    received = 0
    with suppress(TimeoutError):
        async with asyncio.timeout(_DRAIN_SECONDS):
            while received < _DRAINED:
                message = await receive()
                received += len(message.get("body", b""))
                if message["type"] == "http.disconnect" or not message.get("more_body"):
                    return


@dataclass(frozen=True, slots=True)
class Refusal:
    """A refused request. `retry_after` is the number of seconds after which the same request may succeed, 0 if it never
    will. `is_early` says that the body is not read to its end."""

    status: int
    code: str
    title: str
    message: str
    hint: str
    retry_after: int = 0
    is_early: bool = False

    async def answer(self, scope: Message, receive: Receive, send: Send) -> None:
        """Respond, and read the rest of the body: a client that is still sending would not read the response
        otherwise."""
        logger.info("%s %s answered %s: %s", scope["method"], scope["path"], self.status, self.code)
        kind, body = self._body(scope)
        headers = [(b"content-type", kind.encode()), (b"content-length", str(len(body)).encode())]
        headers += [(b"retry-after", str(self.retry_after).encode())] if self.retry_after else []
        if _is_part(scope):
            headers += [(b"hx-retarget", b"#messages"), (b"hx-reswap", b"innerHTML show:top")]
        headers += [(b"connection", b"close"), (b"x-content-type-options", b"nosniff")]
        await send({"type": "http.response.start", "status": self.status, "headers": headers})
        await send({"type": "http.response.body", "body": body, "more_body": True})
        if self.is_early:
            await _drain(receive)
        await send({"type": "http.response.body", "body": b""})

    def _body(self, scope: Message) -> tuple[str, bytes]:
        message = self.message.format(bytes=f"{settings.BODY_BYTES:,}")
        if scope["path"].startswith("/api/"):
            body = problem(self.status, self.code, message, hint=self.hint)
            return CONTENT_TYPE, json.dumps(body).encode()
        return "text/html; charset=utf-8", self.page(message, is_part=_is_part(scope))

    def page(self, message: str, *, is_part: bool) -> bytes:
        """Return a page that needs neither session nor database, or a message for an open page."""
        name = "errors/_refused.html" if is_part else "errors/refused.html"
        return render_to_string(name, {"refusal": self, "message": message}).encode()


def _is_part(scope: Message) -> bool:
    return (b"hx-request", b"true") in scope["headers"]


REFUSALS = {
    "too_large": Refusal(
        413,
        "request.too_large",
        "The request is too large",
        "A request can have at most {bytes} bytes.",
        "To upload files, use Files → Upload a file or POST /api/files/upload/.",
        is_early=True,
    ),
    "too_many": Refusal(
        429,
        "request.too_many",
        "Too many requests at once",
        "Too many of your requests are still in progress.",
        "Wait until they finish, then send this request again.",
        retry_after=5,
    ),
    "busy": Refusal(
        503,
        "server.busy",
        "Flow is busy",
        "Flow had no capacity for this request within a few seconds.",
        "Nothing was changed. Send the request again later.",
        retry_after=5,
    ),
}
