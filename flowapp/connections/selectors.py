"""Reading stored connections. Nothing here opens a secret."""

from __future__ import annotations

from typing import Any

from flowapp.accounts.models import Workspace
from flowapp.connections.models import Connection
from ir.errors import FlowError

NOTHING_ALLOWED = {"allowedFunctions": [], "allowsServerRights": False}
"""What queries over a new connection may use beyond the ordinary."""


class UnknownConnection(FlowError):
    """There is no connection of that name here."""

    def __init__(self, workspace: Workspace, name: str) -> None:
        known = ", ".join(c.name for c in list_connections(workspace)) or "none yet"
        super().__init__(
            "connection.unknown",
            f"There is no connection {name!r} in workspace {workspace.slug!r}.",
            hint=f"Connections: {known}. Add one with `flow connection add {name} --url URL --password-stdin`.",
        )


def list_connections(workspace: Workspace) -> list[Connection]:
    return list(Connection.objects.filter(workspace=workspace).order_by("name"))


def get_connection(workspace: Workspace, name: str) -> Connection:
    """The connection of that name; raises UnknownConnection."""
    try:
        return Connection.objects.get(workspace=workspace, name=name)
    except Connection.DoesNotExist:
        raise UnknownConnection(workspace, name) from None


def connection_document(connection: Connection) -> dict[str, Any]:
    """What may be shown of a connection: all but its secret."""
    return {
        "name": connection.name,
        "kind": connection.kind,
        "host": connection.host,
        "port": connection.port,
        "database": connection.database,
        "user": connection.user,
        "sslmode": connection.sslmode,
        "hasPassword": bool(connection.secret),
        **(NOTHING_ALLOWED if connection.kind == "postgres" else {}),
        **connection.settings,
        "lastTest": connection.last_test,
    }
