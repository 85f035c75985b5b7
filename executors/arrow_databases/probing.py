"""Tests a connection to a database with an Arrow driver."""

from __future__ import annotations

from executors.arrow_databases import DIALECTS, load_dialect
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
    dialect = load_dialect(DIALECTS[connection.kind])
    with connect(dialect, connection, _SECONDS) as session:
        version = "".join(session.values(dialect.version)[:1])
    return DatabaseProbe(f"{dialect.title} {version}".strip(), dialect.is_encrypted(connection), (_NOTE,))
