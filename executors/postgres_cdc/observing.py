"""Observe and drop the replication slots of streams, outside of runs."""

from __future__ import annotations

from dataclasses import dataclass

from executors.errors import Terminal
from executors.model import Connection
from executors.postgres.client import connect, translate
from executors.postgres_cdc.names import LogNames
from executors.postgres_cdc.slots import drop_publication, drop_slot, find_slot

_SECONDS = 5
_FACTS = """
SELECT coalesce(wal_status, ''), safe_wal_size, active,
       greatest(pg_current_wal_lsn() - restart_lsn, 0)::bigint,
       greatest(pg_current_wal_lsn() - confirmed_flush_lsn, 0)::bigint
FROM pg_replication_slots WHERE slot_name = %s AND NOT pg_is_in_recovery()"""


@dataclass(frozen=True, slots=True)
class SlotFacts:
    """A replication slot now. `status` is `wal_status`. The slot makes the server retain `retained_bytes` of its log,
    of which `behind_bytes` are not confirmed. The slot is lost after another `safe_bytes`, None without a limit."""

    status: str
    safe_bytes: int | None
    is_read: bool
    retained_bytes: int | None
    behind_bytes: int | None

    @property
    def is_lost(self) -> bool:
        return self.status == "lost"


def observe_slot(connection: Connection, name: str) -> SlotFacts | None:
    """Return the facts of a slot, None if there is none of this name. Raises `Failure` if the server does not
    answer."""
    with translate(), connect(connection, autocommit=True, application_name="flow watches slots") as conn:
        conn.execute("SELECT set_config('statement_timeout', %s, false)", [f"{_SECONDS}s"])
        row = conn.execute(_FACTS, [name]).fetchone()
    return SlotFacts(*row) if row else None


def drop_unread_slot(connection: Connection, name: str, names: LogNames) -> None:
    """Drop a slot of a source node, if it exists, and the publication that Flow has created for the node. Raises
    Terminal `cdc.slot_read` while something reads the slot."""
    with translate(), connect(connection, autocommit=True, application_name="flow drops a slot") as conn:
        slot = find_slot(conn, name)
        if slot is not None and slot.reader_pid is not None:
            raise Terminal(
                "cdc.slot_read",
                f"The slot {name} is read by process {slot.reader_pid} ({slot.reader or 'unknown'}).",
                hint="Wait until the run has ended, then drop the slot.",
            )
        drop_slot(conn, name)
        if names.owns_publication:
            drop_publication(conn, names.publication)
