"""Watches the log for changes of a followed table with an open session, so that a stream without changes costs next to
nothing."""

from __future__ import annotations

import time
from collections.abc import Callable
from contextlib import ExitStack

from executors.errors import Terminal, of_node
from executors.model import Connection, RunJob
from executors.mysql.client import Session, connect, database_of
from executors.mysql_cdc.events import (
    FORMAT,
    GTID,
    INCIDENT,
    QUERY,
    QUERY_COMPRESSED,
    ROTATE,
    ROWS,
    TABLE_MAP,
    XA_PREPARE,
    XID,
    Event,
    Group,
    parse_group,
    parse_query,
    parse_table_name,
)
from executors.mysql_cdc.log import MOST_OFFSET, open_log, reader_number
from executors.mysql_cdc.state import LogPosition
from executors.mysql_cdc.statements import Effect, Statements, ends_transaction
from executors.mysql_cdc.tables import find_position
from ir.connectors import config_of
from ir.connectors.mysql_cdc import MysqlCdcConfig
from ir.nodes import Source

LONGEST_SECONDS = 60.0
"""After this time a window checks the table and the settings of the server, and commits a position in a newer file."""
_SECONDS = 60
_SERVER = "SELECT @@server_id, @@lower_case_table_names"


def end_of_log(job: RunJob, source: Source) -> LogPosition | None:
    """Return where the log ends; a window that begins later does not end before it. None if that is not possible, which
    the window then reports."""
    try:
        with of_node(source.id), connect(_connection(job, source), seconds=_SECONDS) as session:
            return find_position(session)
    except Terminal:
        return None


def open_watch(job: RunJob, source: Source, start: LogPosition, check: Callable[[], None]) -> LogWatch:
    """Watch the log of a source from a position on. `check` is called while the log is read; it may raise."""
    reader = reader_number(job.tenant, job.pipeline.id, source.id)
    return LogWatch(source, _connection(job, source), start, reader, check)


def _connection(job: RunJob, source: Source) -> Connection:
    return database_of(job.stores[source.connection or ""])


class LogWatch:
    """Reads each part of the log once, and looks for changes of the table in it."""

    def __init__(
        self, source: Source, connection: Connection, start: LogPosition, reader: int, check: Callable[[], None]
    ) -> None:
        self._node, self._connection, self._reader, self._check = source.id, connection, reader, check
        self._seen = self._next = start
        """The end of what was read, and the start of the first transaction that was not complete there."""
        self._opened, self._group = time.monotonic(), Group(False, False, False, "")
        table = config_of(source, MysqlCdcConfig).table
        with ExitStack() as stack, of_node(self._node):
            self._session: Session = stack.enter_context(connect(connection, seconds=_SECONDS))
            self._server, folds = (int(value or 0) for value in self._session.rows(_SERVER)[0])
            self._statements = Statements(table.database or connection.database, table.name, folds != 0)
            self._session.rows("COMMIT")
            self._stack = stack.pop_all()

    def close(self) -> None:
        self._stack.close()

    def has_changes(self) -> bool:
        """Return whether a window should read the log. Otherwise the target has everything that was committed before
        this call."""
        if time.monotonic() - self._opened > LONGEST_SECONDS:
            return True
        with of_node(self._node):
            server = int(self._session.rows(_SERVER)[0][0] or 0)
            now = find_position(self._session)
            self._session.rows("COMMIT")  # an open snapshot would make the server retain old versions of rows
            if server != self._server or now < self._seen or self._next.offset >= MOST_OFFSET:
                return True
            try:
                return now != self._seen and self._finds_changes(now)
            except Terminal:
                return True  # a window fails for the same reason, and reports it

    def _finds_changes(self, now: LogPosition) -> bool:
        with open_log(self._connection, self._reader) as log:
            is_inside = False
            for logged in log.read(self._next, now, self._check):
                if logged.event.kind == GTID:
                    self._group, is_inside = parse_group(logged.event.body), True
                if self._concerns_table(logged.event):
                    return True
                is_inside = is_inside and not self._ends(logged.event)
                if not is_inside and logged.end.offset < MOST_OFFSET:
                    self._next = logged.end
        self._seen = now
        return False

    def _concerns_table(self, event: Event) -> bool:
        if event.kind == TABLE_MAP:
            _, database, name = parse_table_name(event.body)
            return self._statements.names(database, name)
        if event.kind in (QUERY, QUERY_COMPRESSED):
            # What an XA transaction has changed is in the log where it was prepared.
            return self._group.is_completed or self._statements.effect(parse_query(event)) is not Effect.NONE
        if event.kind == INCIDENT:
            return True
        if event.kind not in (*ROWS, ROTATE, FORMAT, GTID, XID, XA_PREPARE):
            event.require_known()
        return False

    def _ends(self, event: Event) -> bool:
        """Whether an event is the last one of its transaction."""
        if event.kind in (QUERY, QUERY_COMPRESSED):
            return self._group.is_statement or ends_transaction(parse_query(event).text)
        return event.kind in (XID, XA_PREPARE)
