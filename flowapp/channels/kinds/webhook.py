"""Send each message as a signed POST with the client of webhook hooks: bounded in time, public addresses only."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar
from urllib.parse import urlsplit

from executors.api import post_webhook
from executors.model import WebhookConnection
from flowapp.channels.kinds.base import ChannelField, ChannelKind, InvalidChannel, Option
from flowapp.channels.message import Message
from flowapp.connections.webhook_fields import WebhookFields, require_webhook

SHORTEST_SECRET = 16


@dataclass(frozen=True, slots=True)
class WebhookAddress:
    kind: ClassVar[str] = "webhook"
    url: str = field(repr=False)
    secret: str = field(repr=False)
    headers: Mapping[str, str] = field(default_factory=dict, repr=False)


def check(address: WebhookAddress) -> None:
    require_webhook(WebhookFields(address.url, address.headers, address.secret))
    if len(address.secret) < SHORTEST_SECRET:
        raise InvalidChannel(
            "channel.secret_invalid",
            f"A signing secret needs at least {SHORTEST_SECRET} characters.",
            hint="Make one with `openssl rand -base64 24`, and give it to the receiver.",
        )


def public_settings(address: WebhookAddress) -> dict[str, Any]:
    """Return the URL without its path, because many receivers put a secret in the path."""
    return {"host": urlsplit(address.url).hostname, "headers": sorted(address.headers)}


def send(packed: Mapping[str, Any], messages: Sequence[Message], key: str) -> str:
    address = WebhookAddress(**packed)
    (message,) = messages
    body = json.dumps(message.document, ensure_ascii=False, separators=(",", ":")).encode()
    connection = WebhookConnection(message.channel, address.url, address.headers, address.secret)
    post_webhook(connection, key, body)
    return ""


KIND = ChannelKind(
    label="Webhook",
    address=WebhookAddress,
    fields=(
        ChannelField(
            "url",
            "URL",
            help="A public https address without user and query.",
            is_private=True,
            option=Option("--webhook", "URL", "a public https address"),
        ),
        ChannelField(
            "secret",
            "Signing secret",
            help=f"At least {SHORTEST_SECRET} characters. Requests are signed with it (HMAC-SHA256).",
            is_secret=True,
        ),
        ChannelField(
            "headers",
            "Headers",
            "headers",
            "One per line, such as Authorization: Bearer …",
            required=False,
            max_length=20_000,
            is_private=True,
        ),
    ),
    public_fields=(
        ChannelField("host", "Host", help="The receiver's."),
        ChannelField("headers", "Headers", "lines", "Their names."),
    ),
    most_at_once=1,
    check=check,
    public_settings=public_settings,
    recipient=lambda settings: str(settings["host"]),
    send=send,
    error_fields={
        "channel.secret_invalid": "secret",
        "connection.url_invalid": "url",
        "connection.headers_invalid": "headers",
    },
)
