"""Tests a connection to a database with an Arrow driver."""

from __future__ import annotations

from executors.arrow_databases import SYSTEMS, load_system
from executors.arrow_databases.client import connect
from executors.database_probe import DatabaseProbe
from executors.model import StoreConnection

_SECONDS = 30.0
_NOTE = (
    "This connector has not been tested against a real server. Flow cannot see the rights of the user: give it only "
    "SELECT on what pipelines read."
)


def probe(connection: StoreConnection) -> DatabaseProbe:
    """Connect and ask for the version of the server. Raises Failure `source.…`."""
    system = load_system(SYSTEMS[connection.kind])
    with connect(system, connection, _SECONDS) as session:
        version = "".join(session.values(system.version)[:1])
    return DatabaseProbe(f"{system.title} {version}".strip(), system.is_encrypted(connection), (_NOTE,))
