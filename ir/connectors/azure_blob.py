"""The `azure_blob` connector: blobs in a container of Azure, or of a server that speaks its protocol."""

from __future__ import annotations

from ir.connectors.base import Connector
from ir.connectors.objects import STARTS_WITH, ObjectsConfig

CONNECTOR = Connector(
    "azure_blob",
    "Azure Blob container",
    "Files in a container of Azure Storage.",
    ObjectsConfig,
    connection_kind="azure_blob",
    starts_with=STARTS_WITH,
)
