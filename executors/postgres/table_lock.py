"""One load of a table at a time, whichever pipeline it belongs to."""

from __future__ import annotations

from psycopg import errors

from executors.errors import TargetBusy
from executors.postgres.ddl import Conn
from executors.postgres.names import TableName, quoted

LOCK_TIMEOUT = "30s"
"""How long a load waits for the locks of its table."""


def lock_table(conn: Conn, table: TableName, node: str | None = None) -> None:
    """Hold the table until the open transaction ends; waits two seconds, then raises TargetBusy."""
    try:
        conn.execute("SET LOCAL lock_timeout = '2s'")
        conn.execute(
            "SELECT pg_advisory_xact_lock(hashtextextended('flow.load ' || %s, 0))",
            [quoted(table.schema, table.table)],
        )
        conn.execute("SELECT set_config('lock_timeout', %s, true)", [LOCK_TIMEOUT])
    except errors.LockNotAvailable as error:
        raise TargetBusy(
            "target.busy",
            f"Another load holds {table}.",
            node=node,
            hint="The run waits in the queue until that load has ended.",
        ) from error
