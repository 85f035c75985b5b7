"""A connection to a database of MySQL or MariaDB."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field, StringConstraints

from ir.annotations import NoNewline
from ir.manifests.declared import EnvSecret
from ir.manifests.stores.database import DeclaredServer, Port


class DeclaredMysql(DeclaredServer):
    """A database of MySQL or MariaDB, from which sources read rows."""

    title = "MySQL or MariaDB"
    address = ("kind", "host", "port", "database", "user")

    kind: Literal["mysql"]
    port: Port = Field(3306, title="Port", description="The port of the server.")
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
