"""The `s3` connector: objects in a bucket of Amazon S3 or of a server that speaks its protocol."""

from __future__ import annotations

from ir.connectors.base import Connector
from ir.connectors.objects import STARTS_WITH, ObjectsConfig

CONNECTOR = Connector(
    "s3",
    "S3 bucket",
    "Files in Amazon S3 or a compatible store.",
    ObjectsConfig,
    connection_kind="s3",
    starts_with=STARTS_WITH,
)
