"""Refuse connections to Flow's own control database or with its role, so that loads cannot reach the audit log."""

from __future__ import annotations

import socket
from ipaddress import ip_address

from django.db import connection as control

from executors.model import Connection
from flowapp.connections.fields import InvalidConnection

THIS_MACHINE = "this machine"


def refuse_control_address(host: str, port: int, database: str, user: str) -> None:
    """Refuse an address of the control database. Raises InvalidConnection. `refuse_control` detects other names of the
    server."""
    if control.vendor != "postgresql":
        return
    own = control.settings_dict
    is_alike = port == int(own["PORT"] or 5432) and (database == own["NAME"] or user == own["USER"])
    if is_alike and _addresses_of(host) & _addresses_of(own["HOST"]):
        raise _is_control()


def refuse_control(connection: Connection) -> None:
    """Refuse a connection that reaches the control database or its role by any address. Raises InvalidConnection, and
    Failure if the server does not respond."""
    from executors.target_database import ServerIdentity, read_identity  # Most commands connect to no target.

    if control.vendor != "postgresql":
        return
    with control.cursor() as cursor:
        cursor.execute(ServerIdentity.QUERY)
        own = ServerIdentity(*cursor.fetchone())
    other = read_identity(connection)
    if own.system == other.system and (own.database == other.database or own.role == other.role):
        raise _is_control()


def _addresses_of(host: str) -> set[str]:
    """Return the name and the addresses that it resolves to. All addresses of this machine count as the same."""
    if not host or host.startswith("/"):
        return {THIS_MACHINE}
    try:
        found = {str(info[4][0]) for info in socket.getaddrinfo(host, None)}
    except OSError:
        found = set()
    return {THIS_MACHINE if _is_loopback(address) else address for address in found} | {host.lower()}


def _is_loopback(address: str) -> bool:
    return ip_address(address.partition("%")[0]).is_loopback


def _is_control() -> InvalidConnection:
    return InvalidConnection(
        "connection.is_control",
        "This is Flow's control database or its role.",
        hint="Use another database, which may be on the same server, with a separate role.",
    )
