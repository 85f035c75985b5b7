"""Sessions of tests in the databases of the test server."""

from __future__ import annotations

import psycopg

from executors.model import Connection


def connect_to(database: Connection, schema: str = "") -> psycopg.Connection:
    """Open a session with autocommit, with `schema` as its search path if given."""
    options = f"-c search_path={schema}" if schema else ""
    return psycopg.connect(
        host=database.host,
        port=database.port,
        dbname=database.database,
        user=database.user,
        password=database.password,
        autocommit=True,
        options=options,
    )
