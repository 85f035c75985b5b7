"""A connection to a database of MySQL or MariaDB."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, Literal

from pydantic import Field, StringConstraints

from ir.annotations import NoNewline
from ir.manifests.declared import EnvSecret
from ir.manifests.stores.base import DeclaredStore


class DeclaredMysql(DeclaredStore):
    """A database of MySQL or MariaDB, from which sources read rows."""

    title = "MySQL or MariaDB"
    holds = "rows"
    secret_fields = ("password",)
    address = ("kind", "host", "port", "database", "user")

    kind: Literal["mysql"]
    host: Annotated[str, StringConstraints(pattern=r"^[A-Za-z0-9._:-]{1,253}$"), NoNewline()] = Field(
        title="Host", description="The name or address of the server.", examples=["db.example.com"]
    )
    port: Annotated[int, Field(ge=1, le=65535)] = Field(3306, title="Port", description="The port of the server.")
    database: Annotated[str, StringConstraints(pattern=r"^[^\x00-\x1f\x7f]{1,64}$"), NoNewline()] = Field(
        title="Database", description="The name of the database.", examples=["shop"]
    )
    user: Annotated[str, StringConstraints(pattern=r"^[^\x00-\x1f\x7f]{1,80}$"), NoNewline()] = Field(
        title="User", description="A user who may only read (GRANT SELECT).", examples=["flow_reader"]
    )
    sslmode: Literal["disable", "prefer", "require", "verify-ca", "verify-full"] = Field(
        "prefer", title="TLS", description="Whether the connection must be encrypted, and the certificate checked."
    )
    password: EnvSecret | None = Field(None, title="Password", description="The password of the user.")

    @classmethod
    def server_of(cls, settings: Mapping[str, Any]) -> tuple[str, int]:
        return str(settings["host"]), int(settings["port"])

    @classmethod
    def container_of(cls, settings: Mapping[str, Any]) -> str:
        return str(settings["database"])

    @classmethod
    def user_of(cls, settings: Mapping[str, Any]) -> str:
        return str(settings["user"])
