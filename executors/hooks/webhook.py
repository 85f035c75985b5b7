"""The `webhook` hook: a signed POST of names and counts, as specified by https://www.standardwebhooks.com."""

from __future__ import annotations

import base64
import hashlib
import hmac
import json
import time
from collections.abc import Mapping
from typing import cast
from urllib.parse import urlsplit

from executors.errors import Terminal
from executors.hooks.base import HookCall, HookHandler
from executors.hooks.posting import Posting, require_accepted
from executors.model import WebhookConnection
from ir.hooks.base import BaseHook
from ir.hooks.webhook import Webhook


def send(call: HookCall) -> str:
    hook = cast(Webhook, call.hook)
    connection = _connection(hook, call.webhooks)
    body = json.dumps(call.facts, ensure_ascii=False, separators=(",", ":")).encode()
    posting = Posting(_url(hook, connection), body, headers_of(connection, call.key, body, int(time.time())))
    with call.interruption.by(posting.stop):
        status = posting.send()
    require_accepted(status)
    return f"The receiver returned {status}."


def post_webhook(connection: WebhookConnection, key: str, body: bytes) -> int:
    """POST a signed body to a connection and return the status of the response. Raises Failure unless it was accepted.

    `key` stays the same when the same body is sent again, so that a receiver can recognize a repetition."""
    status = Posting(connection.url, body, headers_of(connection, key, body, int(time.time()))).send()
    require_accepted(status)
    return status


def headers_of(connection: WebhookConnection | None, key: str, body: bytes, now: int) -> dict[str, str]:
    """Return the headers of the request. The connection's own headers cannot replace Flow's."""
    given = {} if connection is None else connection.headers
    own_headers = {
        "content-type": "application/json",
        "user-agent": "Flow",
        "idempotency-key": key,
        "webhook-id": key,
        "webhook-timestamp": str(now),
    }
    if connection is not None and connection.secret:
        own_headers["webhook-signature"] = sign(connection.secret, key, now, body)
    return {name: value for name, value in given.items() if name.lower() not in own_headers} | own_headers


def sign(secret: str, key: str, now: int, body: bytes) -> str:
    digest = hmac.new(secret.encode(), b".".join([key.encode(), str(now).encode(), body]), hashlib.sha256).digest()
    return f"v1,{base64.b64encode(digest).decode()}"


def _connection(hook: Webhook, known: Mapping[str, WebhookConnection]) -> WebhookConnection | None:
    name = hook.connection
    if name is None:
        return None
    if name not in known:
        raise Terminal(
            "connection.unknown",
            f"Unknown webhook connection {name!r}.",
            hint="Add the connection, or correct the name.",
        )
    return known[name]


def _url(hook: Webhook, connection: WebhookConnection | None) -> str:
    return str(hook.url) if connection is None else connection.url.rstrip("/") + (hook.path or "")


def _statement(hook: BaseHook) -> str:
    """Describe the request without the path of a URL: many receivers have a secret in the path."""
    hook = cast(Webhook, hook)
    if hook.connection is not None:
        return f"POST {hook.path or '/'} to connection {hook.connection}"
    return f"POST https://{urlsplit(str(hook.url)).netloc}/…"


HANDLER = HookHandler("webhook", _statement, send)
