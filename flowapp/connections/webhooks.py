"""Webhook connections: a base URL, headers and a signing secret. All three may be secret and are stored encrypted."""

from __future__ import annotations

import json
from typing import Any
from urllib.parse import urlsplit

from django.views.decorators.debug import sensitive_variables

from executors.model import WebhookConnection
from flowapp.connections.models import Connection
from flowapp.connections.secrets import decrypt, encrypt
from flowapp.connections.webhook_fields import WebhookFields, require_webhook

HTTPS_PORT = 443


@sensitive_variables()
def fill_webhook(connection: Connection, fields: WebhookFields) -> None:
    """Set the fields of an unsaved connection. Raises InvalidConnection."""
    require_webhook(fields)
    parts = urlsplit(fields.url)
    connection.host, connection.port, connection.sslmode = str(parts.hostname), parts.port or HTTPS_PORT, ""
    connection.settings = {"headers": sorted(fields.headers), "signed": bool(fields.secret)}
    connection.secret = _encrypt(fields)


@sensitive_variables("secret", "known")
def replace_signing_secret(connection: Connection, secret: str) -> None:
    known = resolve_webhook(connection)
    connection.settings = {**connection.settings, "signed": bool(secret)}
    connection.secret = _encrypt(WebhookFields(known.url, known.headers, secret))


def resolve_webhook(connection: Connection) -> WebhookConnection:
    """Return the connection in clear text. Keep it in memory only."""
    stored: dict[str, Any] = json.loads(decrypt(connection.secret, f"connection {connection.name!r}"))
    return WebhookConnection(connection.name, stored["url"], stored["headers"], stored["secret"])


def _encrypt(fields: WebhookFields) -> str:
    return encrypt(json.dumps({"url": fields.url, "headers": dict(fields.headers), "secret": fields.secret}))
