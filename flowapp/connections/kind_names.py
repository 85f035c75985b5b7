"""The names of all kinds of connections. It imports no models, because the settings name it."""

from __future__ import annotations

from flowapp.connections.webhook_fields import WEBHOOK
from ir.manifests.stores import STORE_KINDS

POSTGRES = "postgres"
CONNECTION_KINDS = (POSTGRES, WEBHOOK, *STORE_KINDS)
