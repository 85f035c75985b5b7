"""Refusing connections to Flow's own control database, or as its role: whoever loads must not reach the audit."""

from __future__ import annotations

from dataclasses import dataclass

import psycopg
from django.db import connection as control

from flowapp.connections.urls import InvalidConnection

LOCAL_HOSTS = {"", "localhost", "127.0.0.1", "::1"}


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
    same_server = _plain_host(host) == _plain_host(own["HOST"]) and port == int(own["PORT"] or 5432)
    if same_server and (database == own["NAME"] or user == own["USER"]):
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


def _plain_host(host: str) -> str:
    return "localhost" if host.lower() in LOCAL_HOSTS or host.startswith("/") else host.lower()


def _is_control() -> InvalidConnection:
    return InvalidConnection(
        "connection.is_control",
        "This is Flow's own control database, or its role.",
        hint="Load into another database (one on the same server will do), as a role of its own.",
    )
