"""A signed POST for each message, by the client of webhook hooks: bounded, and to public addresses only."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar
from urllib.parse import urlsplit

from executors.api import post_webhook
from executors.model import WebhookConnection
from flowapp.channels.kinds.base import ChannelKind, InvalidChannel
from flowapp.channels.messages import Message
from flowapp.connections.webhooks import WebhookFields, require_webhook

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


def shown(address: WebhookAddress) -> dict[str, Any]:
    """Without the path: many receivers keep their secret there."""
    return {"host": urlsplit(address.url).hostname, "headers": sorted(address.headers)}


def send(packed: Mapping[str, Any], messages: Sequence[Message], key: str) -> str:
    address = WebhookAddress(**packed)
    (message,) = messages
    body = json.dumps(message.document, ensure_ascii=False, separators=(",", ":")).encode()
    connection = WebhookConnection(message.channel, address.url, address.headers, address.secret)
    post_webhook(connection, key, body)
    return ""


KIND = ChannelKind("Webhook", WebhookAddress, "secret", "signing secret", 1, check, shown, send)
