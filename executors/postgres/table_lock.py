"""A lock that allows one load of a table at a time, across all pipelines."""

from __future__ import annotations

from psycopg import errors

from executors.errors import TargetBusy
from executors.postgres.client import translate
from executors.postgres.ddl import Conn
from executors.table_name import TableName, quoted

LOCK_TIMEOUT = "30s"
"""How long a load waits for the locks of its table."""

_BRIEFLY = "2s"
_IN_TURN = "300s"
"""How long a load waits for other loads of its table, and how long for those of the same backfill. The rows of a chunk
are staged already, and would have to be read again."""


_KEY = "hashtextextended('flow.load ' || %s, 0)"


def lock_table(conn: Conn, table: TableName, node: str | None = None, *, in_turn: bool = False) -> None:
    """Lock the table until the open transaction ends. Waits two seconds, or `in_turn` some minutes, then raises
    TargetBusy."""
    try:
        conn.execute("SELECT set_config('lock_timeout', %s, true)", [_IN_TURN if in_turn else _BRIEFLY])
        conn.execute(f"SELECT pg_advisory_xact_lock({_KEY})", [quoted(table.schema, table.table)])
        conn.execute("SELECT set_config('lock_timeout', %s, true)", [LOCK_TIMEOUT])
    except errors.LockNotAvailable as error:
        raise _busy(table, node) from error


@translate()
def refuse_busy(conn: Conn, table: TableName, node: str | None = None) -> None:
    """Raise TargetBusy while a load has locked the table. The check itself releases its lock at once."""
    look = f"SELECT pg_try_advisory_xact_lock_shared({_KEY})"
    with conn.transaction():
        row = conn.execute(look, [quoted(table.schema, table.table)]).fetchone()
    if row and not row[0]:
        raise _busy(table, node)


def _busy(table: TableName, node: str | None) -> TargetBusy:
    return TargetBusy(
        "target.busy",
        f"Another load has locked {table}.",
        node=node,
        hint="The run waits in the queue until that load finishes.",
    )
