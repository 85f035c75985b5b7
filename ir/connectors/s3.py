"""The `s3` connector: objects in a bucket of Amazon S3 or of a server that speaks its protocol."""

from __future__ import annotations

from ir.connectors.base import Connector
from ir.connectors.objects import STARTS_WITH, ObjectsConfig

CONNECTOR = Connector("s3", "Objects in an S3 bucket.", ObjectsConfig, connection_kind="s3", starts_with=STARTS_WITH)
