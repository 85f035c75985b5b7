"""Connections in `flow.toml`. A secret is the name of an environment variable, never its value."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Annotated, Any, Literal

from pydantic import Field

from ir.annotations import ByTag
from ir.diagnostics import Diagnostic
from ir.manifests.declared import DeclaredConnection as DeclaredConnection
from ir.manifests.declared import EnvSecret as EnvSecret
from ir.manifests.diagnostics import fault
from ir.manifests.stores import STORE_KINDS
from ir.manifests.stores.azure_blob import DeclaredAzureBlob
from ir.manifests.stores.bigquery import DeclaredBigQuery
from ir.manifests.stores.folder import DeclaredFolder
from ir.manifests.stores.gcs import DeclaredGcs
from ir.manifests.stores.http import DeclaredHttp
from ir.manifests.stores.mysql import DeclaredMysql
from ir.manifests.stores.oracle import DeclaredOracle
from ir.manifests.stores.s3 import DeclaredS3
from ir.manifests.stores.sftp import DeclaredSftp
from ir.manifests.stores.singer import DeclaredSinger
from ir.manifests.stores.snowflake import DeclaredSnowflake
from ir.manifests.stores.sqlserver import DeclaredSqlServer
from ir.pointers import Pointer


class DeclaredPostgres(DeclaredConnection):
    """A PostgreSQL database."""

    secret_fields = ("password",)

    kind: Literal["postgres"]
    host: Annotated[str, Field(min_length=1, max_length=253)] = Field(
        description="The name or address of the server.", examples=["db.example.com"]
    )
    port: Annotated[int, Field(ge=1, le=65535)] = Field(5432, description="The port of the server.")
    database: Annotated[str, Field(min_length=1, max_length=63)] = Field(description="The name of the database.")
    user: Annotated[str, Field(min_length=1, max_length=63)] = Field(description="The role to connect as.")
    sslmode: Literal["disable", "allow", "prefer", "require", "verify-ca", "verify-full"] = Field(
        "prefer", title="TLS", description="Whether the connection must be encrypted, as libpq defines it."
    )
    password: EnvSecret | None = Field(None, description="The environment variable with the password.")


class DeclaredWebhook(DeclaredConnection):
    """A receiver of webhooks. Its address and headers may be secret, so all of it comes from the environment."""

    secret_fields = ("url", "secret")

    kind: Literal["webhook"]
    url: EnvSecret = Field(title="URL", description="The environment variable with the https address.")
    headers: Annotated[dict[str, EnvSecret], Field(max_length=20)] = Field(
        default={}, description="Headers, each with the environment variable of its value."
    )
    secret: EnvSecret | None = Field(None, description="The environment variable with the secret that signs requests.")


AnyConnection = Annotated[
    DeclaredPostgres
    | DeclaredWebhook
    | DeclaredS3
    | DeclaredGcs
    | DeclaredAzureBlob
    | DeclaredFolder
    | DeclaredMysql
    | DeclaredSqlServer
    | DeclaredOracle
    | DeclaredSnowflake
    | DeclaredBigQuery
    | DeclaredSftp
    | DeclaredHttp
    | DeclaredSinger,
    ByTag("kind"),
]
_KINDS: Mapping[str, type[DeclaredConnection]] = {
    "postgres": DeclaredPostgres,
    "webhook": DeclaredWebhook,
    **dict(STORE_KINDS.items()),
}


def secrets_in_text(raw: Any, at: Pointer) -> Iterator[Diagnostic]:
    """Report secrets that a connection contains in clear text. No message repeats a value."""
    if not isinstance(raw, dict):
        return
    kind = _KINDS.get(str(raw.get("kind")))
    names = kind.secret_fields if kind is not None else ("password", "secret")
    for name in names:
        yield from _in_text(raw.get(name), at / name, name)
    headers = raw.get("headers") if kind is DeclaredWebhook else None
    for name, value in headers.items() if isinstance(headers, dict) else ():
        yield from _in_text(value, at / "headers" / name, f"the header {name}")


def _in_text(value: Any, at: Pointer, what: str) -> Iterator[Diagnostic]:
    if value is not None and not isinstance(value, dict):
        yield fault("manifest.secret_in_text", at, f"A manifest cannot contain {what} itself.")


def secrets_of(connection: DeclaredConnection) -> dict[str, str]:
    """Return the variable of each secret that the connection declares, by the path of its field."""
    found: dict[str, str] = {}
    for part, at in connection.parts(Pointer()):
        if isinstance(part, EnvSecret):
            found[str(at)] = part.env
    headers = connection.headers if isinstance(connection, DeclaredWebhook) else {}
    return found | {f"/headers/{name}": value.env for name, value in headers.items()}
