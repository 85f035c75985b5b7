"""The `gcs` connector: objects in a bucket of Google Cloud Storage or of a server that speaks its protocol."""

from __future__ import annotations

from ir.connectors.base import Connector
from ir.connectors.objects import STARTS_WITH, ObjectsConfig

CONNECTOR = Connector(
    "gcs",
    "Google Cloud Storage bucket",
    "Files in a bucket of Google Cloud.",
    ObjectsConfig,
    connection_kind="gcs",
    starts_with=STARTS_WITH,
)
