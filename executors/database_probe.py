"""Tests a connection to a database of any kind that sources read from, except PostgreSQL."""

from __future__ import annotations

from dataclasses import dataclass
from importlib import import_module

from executors.arrow_databases import DIALECTS
from executors.model import StoreConnection

_PROBES = {"mysql": "executors.mysql.probing", **dict.fromkeys(DIALECTS, "executors.arrow_databases.probing")}
"""By the kind of the connection, named by dotted path so that only the driver in use is loaded."""


@dataclass(frozen=True, slots=True)
class DatabaseProbe:
    """`notes` are remarks about the connection, such as rights that the user should not have."""

    server_version: str
    is_encrypted: bool
    notes: tuple[str, ...]


def probe_database(connection: StoreConnection) -> DatabaseProbe:
    """Connect, and return what the server says. Raises Failure `source.…`."""
    found: DatabaseProbe = import_module(_PROBES[connection.kind]).probe(connection)
    return found
