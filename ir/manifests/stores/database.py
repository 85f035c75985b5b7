"""What connections to databases on a server have in common."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any

from pydantic import Field, StringConstraints

from ir.annotations import NoNewline
from ir.manifests.stores.base import DeclaredStore

Host = Annotated[str, StringConstraints(pattern=r"^[A-Za-z0-9._:-]{1,253}$"), NoNewline()]
Port = Annotated[int, Field(ge=1, le=65535)]


class DeclaredDatabase(DeclaredStore):
    """A database that sources read rows from. A subclass has the fields `database` and `user`."""

    holds = "rows"

    @classmethod
    def container_of(cls, settings: Mapping[str, Any]) -> str:
        return str(settings["database"])

    @classmethod
    def user_of(cls, settings: Mapping[str, Any]) -> str:
        return str(settings["user"])


class DeclaredServer(DeclaredDatabase):
    """A database on a server with a host and a port. A subclass gives the port its default."""

    secret_fields = ("password",)

    host: Host = Field(title="Host", description="The name or address of the server.", examples=["db.example.com"])
    port: Port = Field(title="Port", description="The port of the server.")

    @classmethod
    def server_of(cls, settings: Mapping[str, Any]) -> tuple[str, int]:
        return str(settings["host"]), int(settings["port"])
