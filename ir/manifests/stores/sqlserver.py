"""A connection to a database of SQL Server."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, Literal

from pydantic import Field, StringConstraints

from ir.annotations import NoNewline
from ir.manifests.declared import EnvSecret
from ir.manifests.stores.base import UNTESTED, DeclaredStore


class DeclaredSqlServer(DeclaredStore):
    """A database of SQL Server, from which sources read rows. Not tested against a real server."""

    title = "SQL Server"
    holds = "rows"
    caution = UNTESTED
    secret_fields = ("password",)
    address = ("kind", "host", "port", "database", "user", "encryption")

    kind: Literal["sqlserver"]
    host: Annotated[str, StringConstraints(pattern=r"^[A-Za-z0-9._:-]{1,253}$"), NoNewline()] = Field(
        title="Host", description="The name or address of the server.", examples=["db.example.com"]
    )
    port: Annotated[int, Field(ge=1, le=65535)] = Field(1433, title="Port", description="The port of the server.")
    database: Annotated[str, StringConstraints(pattern=r"^[^\x00-\x1f\x7f]{1,128}$"), NoNewline()] = Field(
        title="Database", description="The name of the database.", examples=["shop"]
    )
    user: Annotated[str, StringConstraints(pattern=r"^[^\x00-\x1f\x7f]{1,128}$"), NoNewline()] = Field(
        title="User", description="A login that may only read (GRANT SELECT).", examples=["flow_reader"]
    )
    encryption: Literal["verify", "trust"] = Field(
        "verify",
        title="Certificate",
        description="Connections are always encrypted. verify also checks the certificate and its name; trust accepts "
        "any certificate.",
    )
    password: EnvSecret = Field(title="Password", description="The password of the login.")

    @classmethod
    def server_of(cls, settings: Mapping[str, Any]) -> tuple[str, int]:
        return str(settings["host"]), int(settings["port"])

    @classmethod
    def container_of(cls, settings: Mapping[str, Any]) -> str:
        return str(settings["database"])

    @classmethod
    def user_of(cls, settings: Mapping[str, Any]) -> str:
        return str(settings["user"])
