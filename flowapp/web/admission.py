"""Limits requests before Django reads them: the size of bodies, and the number of concurrent requests.

A body is spooled to disk before any view runs, and a request holds a connection of the pool from its first query to its
end. Both are therefore bounded here, for every address, known or not.
"""

from __future__ import annotations

import asyncio
import hashlib
from collections import Counter
from collections.abc import Awaitable, Callable, MutableMapping
from contextlib import AsyncExitStack, asynccontextmanager
from typing import TYPE_CHECKING, Any, NamedTuple

from asgiref.sync import sync_to_async
from django.conf import settings
from django.db import close_old_connections

from flowapp.web.refusals import REFUSALS, Refusal

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

Scope = MutableMapping[str, Any]
Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
App = Callable[[Scope, Receive, Send], Awaitable[None]]

UNCOUNTED = ("/static/", "/api/health/")
"""Requests that need no slot: static files, and the liveness check."""


class _Refused(Exception):
    def __init__(self, refusal: Refusal) -> None:
        self.refusal = refusal


class Admission:
    """Wraps the ASGI application. `body_limit` returns the largest body of a request in bytes; it may query the
    database."""

    def __init__(self, app: App, body_limit: Callable[[Scope], int], slots: int) -> None:
        self._app, self._body_limit, self._slots = app, body_limit, RequestSlots(slots)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        has_begun = False

        async def note_and_send(message: Message) -> None:
            nonlocal has_begun
            has_begun = True
            await send(message)

        try:
            await self._admit(scope, receive, note_and_send)
        except _Refused as refused:
            if not has_begun:
                await refused.refusal.answer(scope, receive, send)

    async def _admit(self, scope: Scope, receive: Receive, send: Send) -> None:
        limit = await self._limit(scope)
        received, is_admitted = 0, scope["path"].startswith(UNCOUNTED)

        async with AsyncExitStack() as stack:

            async def count() -> Message:
                """Count the next part of the body. The slot is taken when the body is complete, so that slow senders
                do not hold one."""
                nonlocal received, is_admitted
                message = await receive()
                received += len(message.get("body", b""))
                if received > limit:
                    raise _Refused(REFUSALS["too_large"])
                if message["type"] == "http.request" and not message.get("more_body") and not is_admitted:
                    is_admitted = True
                    await stack.enter_async_context(self._slots.slot(client_of(scope)))
                return message

            await self._app(scope, count, send)

    async def _limit(self, scope: Scope) -> int:
        """Return the limit of this body in bytes. Raises _Refused if a larger body is declared."""
        length, limit = _length(scope), int(settings.BODY_BYTES)
        if length is None or length > limit:
            limit = await sync_to_async(self._ask_limit, thread_sensitive=False)(scope)
        if length is not None and length > limit:
            raise _Refused(REFUSALS["too_large"])
        return limit

    def _ask_limit(self, scope: Scope) -> int:
        try:
            return self._body_limit(scope)
        finally:
            close_old_connections()  # no request releases them before its end


class Client(NamedTuple):
    """The sender of a request: its token or session, valid or not, else its address."""

    key: str
    is_named: bool


class RequestSlots:
    """Slots for concurrent requests, fewer per client. A request without a free slot waits for a limited time.

    An address may be a proxy of many users, so an address may use all slots.
    """

    def __init__(self, most: int) -> None:
        self._most = most
        self._all = asyncio.Semaphore(most)
        self._of_one: dict[str, asyncio.Semaphore] = {}
        self._present: Counter[str] = Counter()

    @asynccontextmanager
    async def slot(self, client: Client) -> AsyncIterator[None]:
        """Hold a slot in the block. Raises _Refused."""
        room = settings.REQUESTS_AT_ONCE if client.is_named else self._most
        if self._present[client.key] >= room + settings.REQUESTS_WAITING:
            raise _Refused(REFUSALS["too_many"])
        own = self._of_one.setdefault(client.key, asyncio.Semaphore(room))
        self._present[client.key] += 1
        try:
            await _acquire(settings.REQUEST_WAIT_SECONDS, own, self._all)
            try:
                yield
            finally:
                self._all.release()
                own.release()
        finally:
            self._present[client.key] -= 1
            if not self._present[client.key]:
                del self._present[client.key], self._of_one[client.key]


async def _acquire(seconds: float, own: asyncio.Semaphore, everybody: asyncio.Semaphore) -> None:
    """Take a slot of the client, then one of all; neither if that takes too long."""
    has_own = False
    try:
        async with asyncio.timeout(seconds):
            await own.acquire()
            has_own = True
            await everybody.acquire()
    except TimeoutError:
        if has_own:
            own.release()
        raise _Refused(REFUSALS["busy" if has_own else "too_many"]) from None
    except BaseException:
        if has_own:
            own.release()
        raise


def client_of(scope: Scope) -> Client:
    """Identify the client like the views: by token, else by session."""
    shown = _token_of(scope) or _session_of(scope)
    if shown:
        return Client(hashlib.sha256(shown).hexdigest(), is_named=True)
    return Client(str((scope.get("client") or ("",))[0]), is_named=False)


def _token_of(scope: Scope) -> bytes:
    words = dict(scope["headers"]).get(b"authorization", b"").split()
    return words[1] if len(words) == 2 and words[0].lower() == b"token" else b""


def _session_of(scope: Scope) -> bytes:
    """Return the session cookie. If the name occurs several times, the last one counts."""
    cookies = b";".join(value for name, value in scope["headers"] if name == b"cookie").split(b";")
    named = dict(cookie.strip().partition(b"=")[::2] for cookie in cookies)
    return named.get(settings.SESSION_COOKIE_NAME.encode(), b"")


def _length(scope: Scope) -> int | None:
    """Return the declared length of the body in bytes; None for a chunked body."""
    headers = dict(scope["headers"])
    if b"transfer-encoding" in headers:
        return None
    try:
        return max(0, int(headers.get(b"content-length", b"0")))
    except ValueError:
        return None
