"""A connection to a bucket of Google Cloud Storage, or of a server that speaks its protocol."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Annotated, Any, Literal
from urllib.parse import urlsplit

from pydantic import Field, StringConstraints

from ir.annotations import NoNewline
from ir.manifests.declared import EnvSecret
from ir.manifests.stores.base import DeclaredStore
from ir.manifests.stores.s3 import Endpoint

GOOGLE = "https://storage.googleapis.com"
_NEEDED = ("client_email", "private_key", "token_uri")


class DeclaredGcs(DeclaredStore):
    """A bucket of Google Cloud Storage, or of a server that speaks its protocol."""

    title = "Google Cloud Storage bucket"
    secret_fields = ("serviceAccount",)
    address = ("kind", "endpoint", "bucket")

    kind: Literal["gcs"]
    bucket: Annotated[str, StringConstraints(pattern=r"^[a-z0-9][a-z0-9._-]{1,220}[a-z0-9]$"), NoNewline()] = Field(
        title="Bucket", description="The name of the bucket.", examples=["acme-landing"]
    )
    endpoint: Endpoint = Field(
        "",
        title="Endpoint",
        description="The address of a server other than Google's.",
        examples=["https://storage.example.com"],
    )
    service_account: EnvSecret = Field(
        title="Service account key",
        description="The JSON file of a key of a service account, all of its lines.",
        json_schema_extra={"multiline": True},
    )

    @classmethod
    def endpoint_of(cls, settings: Mapping[str, Any]) -> str:
        """Return the address of the server."""
        return str(settings["endpoint"]).rstrip("/") or GOOGLE

    @classmethod
    def server_of(cls, settings: Mapping[str, Any]) -> tuple[str, int]:
        parts = urlsplit(cls.endpoint_of(settings))
        return parts.hostname or "", parts.port or (443 if parts.scheme == "https" else 80)

    @classmethod
    def container_of(cls, settings: Mapping[str, Any]) -> str:
        return str(settings["bucket"])

    @classmethod
    def unusable_secret(cls, name: str, value: str) -> str:
        return unusable_key(value)


def unusable_key(value: str) -> str:
    """Return why a text is no key of a service account, without the text; empty if it is one. Other credentials of
    Google name files, commands and addresses, so only these keys are used."""
    try:
        key = json.loads(value)
    except ValueError:
        return "is not the JSON file of a key"
    if not isinstance(key, dict) or key.get("type") != "service_account":
        return "is not a key of a service account"
    missing = [part for part in _NEEDED if not isinstance(key.get(part), str)]
    return f"lacks {missing[0]}" if missing else ""
