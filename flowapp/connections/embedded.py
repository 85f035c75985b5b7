"""Connections to the bundled PostgreSQL, which need no user input."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from django.conf import settings
from django.db import connection as control
from django.db.models import F

from flowapp.accounts.models import Workspace
from flowapp.connections.fields import ConnectionFields, InvalidConnection
from flowapp.connections.models import Connection
from flowapp.connections.services import add_connection, probe_connection
from flowapp.embedded.home import Home, load_secrets
from flowapp.embedded.ports import LOOPBACK
from flowapp.embedded.postgres import CONTROL
from flowapp.embedded.services import ServiceAddresses
from flowapp.embedded.warehouses import ensure_warehouse, note_password, warehouse_name

NAME = "warehouse"


def embedded_server() -> ServiceAddresses | None:
    """Return the embedded server, or None where databases are configured elsewhere."""
    return find_server(Home(settings.FLOW_HOME), control.settings_dict)


def find_server(home: Home, own: Mapping[str, Any]) -> ServiceAddresses | None:
    """Return the server in `home` if it holds the control database `own`."""
    noted = home.service("postgres").port
    if not noted.exists() or not home.secrets_file.exists():
        return None
    port = noted.read_text().strip()
    if (own.get("HOST"), str(own.get("PORT")), own.get("USER")) != (LOOPBACK, port, CONTROL):
        return None
    return ServiceAddresses(load_secrets(home), {"postgres": int(port)})


def offers_warehouse(workspace: Workspace) -> bool:
    """Return whether the bundled server exists and no connection here uses its warehouse's address or name."""
    server = embedded_server()
    if server is None:
        return False
    mine = Connection.objects.filter(workspace=workspace)
    leads_there = mine.filter(host=LOOPBACK, port=server.ports["postgres"], database=warehouse_name(workspace.slug))
    return not leads_there.exists() and not mine.filter(name=NAME).exists()


def connect_warehouse(workspace: Workspace) -> Connection:
    """Add a connection to the workspace's own database on the bundled server, and test it. Raises InvalidConnection."""
    server = embedded_server()
    if server is None or not offers_warehouse(workspace):
        raise InvalidConnection(
            "connection.not_embedded",
            "There is no bundled PostgreSQL, or a connection to it already exists.",
            hint="See the list of connections, or add a connection by its fields.",
        )
    use_warehouse(workspace, server)
    return probe_connection(workspace, NAME)


def use_warehouse(workspace: Workspace, server: ServiceAddresses) -> Connection:
    """Add a connection to the workspace's own database on the bundled server; create the database if needed. Raises
    InvalidConnection."""
    fields = ensure_warehouse(server, workspace.slug)
    note_password(Home(settings.FLOW_HOME), fields)
    return add_connection(workspace, NAME, ConnectionFields("postgres", **fields))


def follow_server(port: int) -> None:
    """Update the port of all connections to the embedded server, which changes when the last port is taken."""
    alike = Connection.objects.filter(kind="postgres", host=LOOPBACK, database=F("user")).exclude(port=port)
    for connection in alike.select_related("workspace"):
        if connection.database == warehouse_name(connection.workspace.slug):
            Connection.objects.filter(pk=connection.pk).update(port=port, last_test=None)
