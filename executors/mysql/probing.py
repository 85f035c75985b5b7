"""Tests a connection: the server that answers, and the rights of the user."""

from __future__ import annotations

import re

from executors.database_probe import DatabaseProbe
from executors.model import StoreConnection
from executors.mysql.client import connect, database_of

_READS = re.compile(r"GRANT (USAGE|SELECT|SHOW VIEW|PROCESS|, |)+ ON ")

_SECONDS = 20


def probe(connection: StoreConnection) -> DatabaseProbe:
    """Connect and read the grants of the user. Raises Failure `source.…`."""
    with connect(database_of(connection), seconds=_SECONDS) as session:
        grants = [(row[0] or b"").decode() for row in session.rows("SHOW GRANTS")]
        excess = any(not _READS.match(grant) for grant in grants)
        note = "The user may do more than read. Give it only SELECT on the tables that pipelines read."
        return DatabaseProbe(session.server_version, session.is_encrypted, (note,) if excess else ())
