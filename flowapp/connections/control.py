"""Refusing connections to Flow's own control database, or as its role: whoever loads must not reach the audit."""

from __future__ import annotations

import socket
from dataclasses import dataclass
from ipaddress import ip_address

import psycopg
from django.db import connection as control

from flowapp.connections.fields import InvalidConnection

THIS_MACHINE = "this machine"


@dataclass(frozen=True, slots=True)
class Server:
    """Who answered: the cluster's identity, the database and the role."""

    system: str
    database: str
    role: str


def refuse_control_address(host: str, port: int, database: str, user: str) -> None:
    """Refuse by address alone; raises InvalidConnection. Other names of the same server: see `refuse_control`."""
    if control.vendor != "postgresql":
        return
    own = control.settings_dict
    is_alike = port == int(own["PORT"] or 5432) and (database == own["NAME"] or user == own["USER"])
    if is_alike and _addresses_of(host) & _addresses_of(own["HOST"]):
        raise _is_control()


def refuse_control(reached: psycopg.Connection) -> None:
    """Refuse an open connection that has turned out to be the control database or its role."""
    if control.vendor != "postgresql":
        return
    with control.cursor() as cursor:
        own, other = identify(cursor), identify(reached.cursor())
    if own.system == other.system and (own.database == other.database or own.role == other.role):
        raise _is_control()


def identify(cursor: psycopg.Cursor) -> Server:
    cursor.execute("SELECT (SELECT system_identifier FROM pg_control_system())::text, current_database(), session_user")
    system, database, role = cursor.fetchone()
    return Server(system, database, role)


def _addresses_of(host: str) -> set[str]:
    """The name itself and what it resolves to; all ways to this machine are one."""
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
        "This is Flow's own control database, or its role.",
        hint="Load into another database (one on the same server will do), as a role of its own.",
    )
