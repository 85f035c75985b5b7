"""Queries for stored connections. None of them decrypts a secret."""

from __future__ import annotations

from flowapp.accounts.models import Workspace
from flowapp.connections.models import Connection
from ir.errors import FlowError

"""What queries over a new connection may use beyond the ordinary."""


class UnknownConnection(FlowError):
    """The workspace has no connection of that name."""

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
    """Return the connection of that name. Raises UnknownConnection."""
    try:
        return Connection.objects.get(workspace=workspace, name=name)
    except Connection.DoesNotExist:
        raise UnknownConnection(workspace, name) from None
