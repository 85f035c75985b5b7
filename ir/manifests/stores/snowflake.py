"""A connection to a database of Snowflake."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, Literal

from pydantic import Field, StringConstraints

from ir.annotations import NoNewline
from ir.manifests.declared import EnvSecret
from ir.manifests.stores.base import UNTESTED
from ir.manifests.stores.database import DeclaredDatabase

_Name = Annotated[str, StringConstraints(pattern=r"^[^\x00-\x1f\x7f]{0,255}$"), NoNewline()]


class DeclaredSnowflake(DeclaredDatabase):
    """A database of Snowflake, from which sources read rows. Not tested against a real server."""

    title = "Snowflake"
    caution = UNTESTED
    secret_fields = ("privateKey", "password")
    address = ("kind", "account", "user")
    one_of = ("privateKey", "password")

    kind: Literal["snowflake"]
    account: Annotated[str, StringConstraints(pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]{0,200}$"), NoNewline()] = Field(
        title="Account", description="The identifier of the account.", examples=["acme-warehouse"]
    )
    warehouse: Annotated[str, StringConstraints(pattern=r"^[^\x00-\x1f\x7f]{1,255}$"), NoNewline()] = Field(
        title="Warehouse", description="The warehouse that runs the queries.", examples=["LOADING"]
    )
    database: Annotated[str, StringConstraints(pattern=r"^[^\x00-\x1f\x7f]{1,255}$"), NoNewline()] = Field(
        title="Database", description="The name of the database.", examples=["SHOP"]
    )
    schema_: _Name = Field(
        "PUBLIC",
        alias="schema",
        title="Schema",
        description="The schema of tables that are named without one.",
        examples=["PUBLIC"],
    )
    role: _Name = Field(
        "", title="Role", description="The role to use. Empty means the user's default role.", examples=["FLOW_READER"]
    )
    user: Annotated[str, StringConstraints(pattern=r"^[^\x00-\x1f\x7f]{1,255}$"), NoNewline()] = Field(
        title="User", description="A user whose role may only read.", examples=["FLOW"]
    )
    private_key: EnvSecret | None = Field(
        None,
        title="Private key",
        description="The user's private key in PKCS 8 format, all lines of the PEM file, without a passphrase.",
        json_schema_extra={"multiline": True},
    )
    password: EnvSecret | None = Field(
        None, title="Password", description="The user's password, or a programmatic access token in its place."
    )

    @classmethod
    def server_of(cls, settings: Mapping[str, Any]) -> tuple[str, int]:
        return f"{settings['account']}.snowflakecomputing.com", 443

    @classmethod
    def unusable_secret(cls, name: str, value: str) -> str:
        if name == "privateKey" and "-----BEGIN PRIVATE KEY-----" not in value:
            return "is not a private key in PKCS 8 format without a passphrase"
        return ""
