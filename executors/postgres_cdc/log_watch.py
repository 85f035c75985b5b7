"""Watches the log for changes of a followed table with open sessions, so that a stream without changes costs next to
nothing."""

from __future__ import annotations

import time
from collections.abc import Callable
from contextlib import ExitStack

from executors.model import Connection, RunJob
from executors.postgres.client import connect, translate
from executors.postgres.read import as_source
from executors.postgres_cdc.names import LogNames, names_of
from executors.postgres_cdc.protocol import Change, Relation, Truncate, decode
from executors.postgres_cdc.replication import replication_session
from executors.postgres_cdc.slots import find_position, find_slot
from executors.postgres_cdc.window import STALE_BYTES
from ir.connectors import config_of
from ir.connectors.postgres_cdc import PostgresCdcConfig
from ir.nodes import Source

LONGEST_SECONDS = 60.0
"""After this time a window checks the table, the publication and the slot: the log does not report that they have
changed."""
STALE_SECONDS = 10.0
"""How long log without changes of the table is left to the server, however much it is."""
_TABLE = "SELECT to_regclass(format('%%I.%%I', %s::text, %s::text))::oid"


def open_watch(job: RunJob, source: Source, check: Callable[[], None]) -> LogWatch:
    """Watch the log of a source. `check` is called while nothing arrives; it may raise."""
    names = names_of(job.tenant, job.pipeline.id, source)
    return LogWatch(source, job.connections[source.connection or ""], names, check)


class LogWatch:
    """Watches the log from the position on that is confirmed for the slot. No other session can read the slot
    meanwhile."""

    def __init__(self, source: Source, connection: Connection, names: LogNames, check: Callable[[], None]) -> None:
        self._node, table = source.id, config_of(source, PostgresCdcConfig).table
        self._opened = time.monotonic()
        with ExitStack() as stack, as_source(source.id), translate():
            self._conn = stack.enter_context(connect(connection, autocommit=True, application_name=names.reader))
            slot = find_slot(self._conn, names.slot)
            row = self._conn.execute(_TABLE, [table.schema_, table.name]).fetchone()
            self._table: int | None = row[0] if row else None
            self._start = slot.confirmed if slot else 0
            self._position = find_position(self._conn)
            session = stack.enter_context(replication_session(connection, names.reader))
            session.start(names.slot, names.publication, self._start)
            self._messages = session.messages(self._start, check)
            self._stack = stack.pop_all()

    def close(self) -> None:
        self._stack.close()

    def has_changes(self) -> bool:
        """Return whether a window should read the log. Otherwise the target has everything that was committed before
        this call."""
        if self._age > LONGEST_SECONDS:
            return True
        with as_source(self._node), translate():
            now = find_position(self._conn)
            if (now.system, now.timeline) != (self._position.system, self._position.timeline):
                return True
            if now.lsn - self._start >= STALE_BYTES and self._age > STALE_SECONDS:
                return True
            for received in self._messages:
                if received.data:
                    if self._concerns_table(received.data):
                        return True
                elif received.lsn >= now.lsn:
                    return False
        return True

    @property
    def _age(self) -> float:
        return time.monotonic() - self._opened

    def _concerns_table(self, data: bytes) -> bool:
        message = decode(data)
        if isinstance(message, Change):
            return message.relation == self._table
        if isinstance(message, Truncate):
            return self._table in message.relations
        return isinstance(message, Relation) and message.id == self._table
