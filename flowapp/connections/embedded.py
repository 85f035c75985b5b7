"""The warehouse that comes along where no database is configured, so that a first connection needs nothing typed."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from django.conf import settings
from django.db import connection as control

from flowapp.accounts.models import Workspace
from flowapp.connections.fields import ConnectionFields
from flowapp.connections.models import Connection
from flowapp.embedded.home import Home, load_secrets
from flowapp.embedded.ports import LOOPBACK
from flowapp.embedded.postgres import CONTROL
from flowapp.embedded.services import ServiceAddresses

NAME = "warehouse"


def embedded_warehouse() -> ConnectionFields | None:
    """Where it is; None where databases are configured elsewhere."""
    return find_warehouse(Home(settings.FLOW_HOME), control.settings_dict)


def find_warehouse(home: Home, own: Mapping[str, Any]) -> ConnectionFields | None:
    """The warehouse of the server in `home`, if the control database `own` is on that very server."""
    noted = home.service("postgres").port
    if not noted.exists() or not home.secrets_file.exists():
        return None
    port = noted.read_text().strip()
    if (own.get("HOST"), str(own.get("PORT")), own.get("USER")) != (LOOPBACK, port, CONTROL):
        return None
    found = ServiceAddresses(load_secrets(home), {"postgres": int(port)}).warehouse
    return ConnectionFields(
        "postgres", str(found["host"]), int(port), str(found["database"]), str(found["user"]), str(found["password"])
    )


def offered_warehouse(workspace: Workspace) -> ConnectionFields | None:
    """The embedded warehouse, unless a connection of the workspace leads there, or has its name, already."""
    found = embedded_warehouse()
    if found is None:
        return None
    mine = Connection.objects.filter(workspace=workspace)
    leads_there = mine.filter(host=found.host, port=found.port, database=found.database)
    return None if leads_there.exists() or mine.filter(name=NAME).exists() else found
