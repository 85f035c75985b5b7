"""A connection to a bucket of Amazon S3, or of a server that speaks its protocol."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, Literal
from urllib.parse import urlsplit

from pydantic import Field, StringConstraints

from ir.annotations import NoNewline
from ir.manifests.declared import EnvSecret
from ir.manifests.stores.base import DeclaredStore

Endpoint = Annotated[
    str, StringConstraints(pattern=r"^(https?://([A-Za-z0-9._-]+|\[[0-9A-Fa-f:]+\])(:[0-9]{1,5})?/?)?$"), NoNewline()
]
"""The address of a server without user, path and query; empty for the provider's own."""


class DeclaredS3(DeclaredStore):
    """A bucket of Amazon S3, or of a server that speaks its protocol."""

    title = "S3 bucket"
    secret_fields = ("secretKey",)
    address = ("kind", "endpoint", "region", "bucket", "accessKey")

    kind: Literal["s3"]
    bucket: Annotated[str, StringConstraints(pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]{1,61}[A-Za-z0-9]$"), NoNewline()] = (
        Field(title="Bucket", description="The name of the bucket.", examples=["acme-landing"])
    )
    region: Annotated[str, StringConstraints(pattern=r"^[a-z0-9-]{1,40}$"), NoNewline()] = Field(
        "us-east-1", title="Region", description="The region of the bucket. Servers of your own often accept any."
    )
    endpoint: Endpoint = Field(
        "",
        title="Endpoint",
        description="The address of a server other than Amazon's, such as https://minio.example.com:9000.",
        examples=["https://minio.example.com:9000"],
    )
    path_style: bool = Field(
        False,
        title="Bucket in the path",
        description="Most servers of your own need it: the bucket is part of the path, not of the host name.",
    )
    access_key: Annotated[str, StringConstraints(pattern=r"^[\x21-\x7e]{1,128}$"), NoNewline()] = Field(
        title="Access key", description="The ID of the access key.", examples=["AKIAIOSFODNN7EXAMPLE"]
    )
    secret_key: EnvSecret = Field(title="Secret key", description="The secret of the access key.")

    @classmethod
    def server_of(cls, settings: Mapping[str, Any]) -> tuple[str, int]:
        if not settings["endpoint"]:
            return f"s3.{settings['region']}.amazonaws.com", 443
        parts = urlsplit(settings["endpoint"])
        return parts.hostname or "", parts.port or (443 if parts.scheme == "https" else 80)

    @classmethod
    def container_of(cls, settings: Mapping[str, Any]) -> str:
        return str(settings["bucket"])

    @classmethod
    def user_of(cls, settings: Mapping[str, Any]) -> str:
        return str(settings["accessKey"])
