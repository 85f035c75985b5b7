"""A connection to a database of Oracle."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, Literal

from pydantic import Field, StringConstraints

from ir.annotations import NoNewline
from ir.manifests.declared import EnvSecret
from ir.manifests.stores.base import UNTESTED
from ir.manifests.stores.database import DeclaredServer, Port


class DeclaredOracle(DeclaredServer):
    """A database of Oracle, from which sources read rows. Not tested against a real server."""

    title = "Oracle"
    caution = UNTESTED
    address = ("kind", "host", "port", "service", "user", "protocol")

    kind: Literal["oracle"]
    port: Port = Field(1521, title="Port", description="The port of the listener.")
    service: Annotated[str, StringConstraints(pattern=r"^[A-Za-z0-9._$#-]{1,255}$"), NoNewline()] = Field(
        title="Service", description="The name of the service.", examples=["shop.example.com"]
    )
    user: Annotated[str, StringConstraints(pattern=r"^[^\x00-\x1f\x7f]{1,128}$"), NoNewline()] = Field(
        title="User", description="A user who may only read (GRANT READ).", examples=["FLOW_READER"]
    )
    protocol: Literal["tcp", "tcps"] = Field(
        "tcps", title="Protocol", description="tcps encrypts the connection and checks the certificate of the server."
    )
    password: EnvSecret = Field(title="Password", description="The password of the user.")

    @classmethod
    def container_of(cls, settings: Mapping[str, Any]) -> str:
        return str(settings["service"])
