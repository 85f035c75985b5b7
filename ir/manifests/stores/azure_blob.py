"""A connection to a container of Azure Blob Storage, or of a server that speaks its protocol."""

from __future__ import annotations

import base64
from collections.abc import Mapping
from typing import Annotated, Any, Literal
from urllib.parse import urlsplit

from pydantic import Field, StringConstraints

from ir.annotations import NoNewline
from ir.manifests.declared import EnvSecret
from ir.manifests.stores.base import DeclaredStore

BlobEndpoint = Annotated[
    str,
    StringConstraints(pattern=r"^(https?://([A-Za-z0-9._-]+|\[[0-9A-Fa-f:]+\])(:[0-9]{1,5})?(/[a-z0-9]{3,24})?/?)?$"),
    NoNewline(),
]
"""The address of the blob service of an account, with the account as its path if the server needs it."""


class DeclaredAzureBlob(DeclaredStore):
    """A container of Azure Blob Storage, or of a server that speaks its protocol."""

    title = "Azure Blob container"
    secret_fields = ("accountKey", "sasToken")
    one_of = ("accountKey", "sasToken")
    address = ("kind", "endpoint", "account", "container")

    kind: Literal["azure_blob"]
    account: Annotated[str, StringConstraints(pattern=r"^[a-z0-9]{3,24}$"), NoNewline()] = Field(
        title="Storage account", description="The name of the storage account.", examples=["acmelanding"]
    )
    container: Annotated[str, StringConstraints(pattern=r"^[a-z0-9$][a-z0-9-]{1,61}[a-z0-9]$"), NoNewline()] = Field(
        title="Container", description="The name of the container.", examples=["orders"]
    )
    endpoint: BlobEndpoint = Field(
        "",
        title="Endpoint",
        description="The blob endpoint, if it is not https://ACCOUNT.blob.core.windows.net.",
        examples=["https://acmelanding.blob.core.chinacloudapi.cn"],
    )
    account_key: EnvSecret | None = Field(
        None, title="Account key", description="A key of the account. Enter either it or a SAS token."
    )
    sas_token: EnvSecret | None = Field(
        None,
        title="SAS token",
        description="A shared access signature for the container, such as sv=…&sig=…, instead of the account key.",
    )

    @classmethod
    def endpoint_of(cls, settings: Mapping[str, Any]) -> str:
        """Return the address of the blob service."""
        return str(settings["endpoint"]) or f"https://{settings['account']}.blob.core.windows.net"

    @classmethod
    def server_of(cls, settings: Mapping[str, Any]) -> tuple[str, int]:
        parts = urlsplit(cls.endpoint_of(settings))
        return parts.hostname or "", parts.port or (443 if parts.scheme == "https" else 80)

    @classmethod
    def container_of(cls, settings: Mapping[str, Any]) -> str:
        return str(settings["container"])

    @classmethod
    def unusable_secret(cls, name: str, value: str) -> str:
        value = value.strip()
        if name == "sasToken":
            return "" if "sig=" in value and value.isprintable() else "is not a SAS token: it has no signature (sig=…)"
        try:
            base64.b64decode(value, validate=True)
        except ValueError:
            return "is not a key of a storage account: it is not in Base64"
        return ""

    @classmethod
    def user_of(cls, settings: Mapping[str, Any]) -> str:
        return str(settings["account"])
