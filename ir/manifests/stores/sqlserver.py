"""A connection to a database of SQL Server."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field, StringConstraints

from ir.annotations import NoNewline
from ir.manifests.declared import EnvSecret
from ir.manifests.stores.base import UNTESTED
from ir.manifests.stores.database import DeclaredServer, Port


class DeclaredSqlServer(DeclaredServer):
    """A database of SQL Server, from which sources read rows. Not tested against a real server."""

    title = "SQL Server"
    caution = UNTESTED
    address = ("kind", "host", "port", "database", "user", "encryption")

    kind: Literal["sqlserver"]
    port: Port = Field(1433, title="Port", description="The port of the server.")
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
