"""The first rows of a loaded table."""

from __future__ import annotations

from executors.model import Connection
from executors.postgres import first_rows
from executors.postgres.first_rows import FirstRows
from executors.table_name import TableName
from executors.target_database.session import open_session


def read_first_rows(connection: Connection, table: TableName) -> FirstRows:
    """Read the rows as they are now. Raises Failure."""
    with open_session(connection) as session:
        return first_rows.read_first_rows(session, table)
