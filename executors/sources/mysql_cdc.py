"""`mysql_cdc`: all rows of a table in the first load, then its changes from the binary log.

The state is a position in the log. It is committed with the rows. The server does not know it: it removes its log after
a time, whether it was read or not.
"""

from __future__ import annotations

import hashlib
import json
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from functools import cache

from psycopg import sql

from executors.change_log.net_effect import Changes
from executors.change_log.window_files import WindowFiles
from executors.changes import ChangesRead
from executors.errors import Terminal, Transient, of_node
from executors.model import RunJob, SourceState
from executors.mysql.client import Session, connect, database_of, interrupt
from executors.mysql.statements import text_of
from executors.mysql_cdc.bounds import Bounds, LogOf, Window
from executors.mysql_cdc.columns import Layout, LoggedColumn, find_characters
from executors.mysql_cdc.keys import find_key, key_of
from executors.mysql_cdc.log import Logged, LogReader, open_log, reader_number, require_position
from executors.mysql_cdc.log_watch import LogWatch, end_of_log, open_watch
from executors.mysql_cdc.rows import RowsReader, line_of
from executors.mysql_cdc.state import LogPosition, LogState
from executors.mysql_cdc.statements import Statements
from executors.mysql_cdc.tables import FollowedTable, find_position, find_table, require_server
from executors.mysql_cdc.window import WindowReader
from executors.reading import Reading
from executors.sources.base import SourceContext
from executors.sources.log_source import NOTHING, LogSource, SourceKey
from executors.sources.mysql import MysqlSource
from executors.sources.spooled import open_spool
from ir.connectors import config_of
from ir.connectors.mysql_cdc import MysqlCdcConfig
from ir.nodes import Source

_STALE_BYTES = 16 << 20
"""From this size on, a part of the log without changes of the table is committed too, so that it is not read again."""


class MysqlCdc(LogSource):
    def __init__(self, source: Source, context: SourceContext) -> None:
        super().__init__(source, context)
        if context.store is None:
            raise TypeError(f"{source.connector} reads through a connection")
        self._connection = database_of(context.store)
        self._config = config_of(source, MysqlCdcConfig)
        self._database = self._config.table.database or self._connection.database
        self._seconds = max(1, int(context.query_seconds))
        self._tag = f"flow run {context.claimant.run_id} follows {self.node}"
        claimant = context.claimant
        self._reader = reader_number(claimant.tenant, claimant.pipeline, self.node)
        self._rows: MysqlSource | None = None

    @property
    def name(self) -> str:
        return f"{self._database}.{self._config.table.name}"

    @classmethod
    def find_key(cls, job: RunJob, source: Source) -> SourceKey:
        return find_key(job, source)

    @classmethod
    def end_of_log(cls, job: RunJob, source: Source) -> LogPosition | None:
        return end_of_log(job, source)

    @classmethod
    def open_watch(
        cls, job: RunJob, source: Source, start: LogPosition | None, check: Callable[[], None]
    ) -> LogWatch | None:
        return open_watch(job, source, start, check) if start is not None else None

    @property
    def state_settings(self) -> str:
        settings = [self._source.connection, self._database, self._config.table.name]
        return hashlib.sha256(json.dumps(settings).encode()).hexdigest()

    def open(self, stack: ExitStack) -> None:
        if self.context.read_only:
            place = {"table": self._config.table.model_dump(exclude_none=True)}
            source = self._source.model_copy(update={"connector": "mysql", "config": place})
            self._rows = MysqlSource(source, self.context)
            self._rows.open(stack)
            return
        self._folder = open_spool(self.context, self.node, stack)

    def interrupt(self) -> None:
        self._stopped.set()
        if self._rows is not None:
            self._rows.interrupt()
        else:
            interrupt(self._connection, self._tag)

    def reading(self, *, is_last: bool = False, state: SourceState | None = None) -> Reading:
        if self._rows is not None:
            return self._rows.reading(is_last=is_last)
        with of_node(self.node), connect(self._connection, seconds=self._seconds) as session:
            server = require_server(session, self._connection.user)
            position = find_position(session)
            table = find_table(session, self._database, self._config.table.name, self._named_key)
            if state is None:
                return self._first(session, table, position, server.id)
            statements = Statements(table.database, table.name, server.folds)
            before = LogState.from_text(state.value)
            if before.server != server.id:
                raise Terminal(
                    "cdc.source_changed",
                    "The connection leads to another server than before. Nothing was changed.",
                    hint="Check the connection, then load the table again, with a reason: flow run --load-again.",
                )
            require_position(dict(server.files), before.position, self.name)
            bounds = Bounds(position, find_position(session))
            return self._window(session, table, statements, before, bounds)

    # --- the first load ---------------------------------------------------------------------------------------

    def _first(self, session: Session, table: FollowedTable, position: LogPosition, server: int) -> Reading:
        """Return all rows as they are at a position. One session reads the position and the rows, in one snapshot."""
        if session.rows("XA RECOVER"):
            raise Transient(
                "cdc.xa_open",
                "An XA transaction of the server is prepared and not completed, so its changes cannot be "
                "distinguished from later ones.",
                node=self.node,
                hint="Complete it: XA RECOVER lists it. The run is tried again.",
            )
        with open_log(self._connection, self._reader) as log:
            born = log.find_born(position)
        state = LogState(position.file, position.offset, server, born, table.columns, time.time())
        self.context.log(f"The log has the changes from {position} on.")
        if self._config.snapshot == "never":
            return self._lines_of(table.columns, state, ChangesRead(self._target_key(key_of(table))))
        shown = [column for column in table.columns if not column.is_hidden]
        selected = (column.column(self.name).selected for column in shown)
        statement = sql.SQL("SELECT 0, {} FROM {} q").format(sql.SQL(", ").join(selected), table.quoted)
        with WindowFiles(self._folder) as files:
            files.rows(_numbered(session.stream(text_of(statement, self._tag)), self._check))
            session.require_whole()
        changes = ChangesRead(self._target_key(key_of(table)), is_snapshot=True, text_keys=self._text_keys_of(table))
        return self._lines_of(table.columns, state, changes, files)

    # --- windows of changes -----------------------------------------------------------------------------------

    def _window(
        self, session: Session, table: FollowedTable, statements: Statements, before: LogState, bounds: Bounds
    ) -> Reading:
        if bounds.until <= before.position:
            if bounds.until < before.position:
                raise Terminal(
                    "cdc.source_changed",
                    f"The log of the server ends at {bounds.until}, before the changes that the target has.",
                    hint="Check the source, then load the table again, with a reason: flow run --load-again.",
                )
            return NOTHING
        with Changes(self._folder) as changes, WindowFiles(self._folder) as files:
            log = LogOf(lambda start: self._events(start, bounds.until), lambda columns: self._layout(session, columns))
            window = WindowReader(table, statements, before, changes, log, bounds).read()
            if changes.is_empty and not self._must_commit(before, window):
                return NOTHING
            effect = changes.reduce(files)
        beside = ChangesRead(
            self._target_key(key_of(table)),
            files.beside,
            text_keys=self._text_keys_of(table),
            deleted=effect.deleted,
            replaced=effect.replaced,
            truncates=effect.truncates,
        )
        return self._lines_of(window.columns, window.state, beside, files)

    @staticmethod
    def _must_commit(before: LogState, window: Window) -> bool:
        """Whether a window without changes moves the state, so that its part of the log is not read again."""
        after = window.state
        return after.file != before.file or after.offset - before.offset >= _STALE_BYTES

    def _events(self, start: LogPosition, until: LogPosition) -> Iterator[tuple[LogReader, Logged]]:
        with open_log(self._connection, self._reader) as log:
            for logged in log.read(start, until, self._check):
                yield log, logged

    def _layout(self, session: Session, columns: Sequence[LoggedColumn]) -> Layout:
        @cache
        def characters(charset: str) -> Sequence[bytes]:
            return find_characters(session, charset, self.name)

        return Layout(self.name, columns, characters)

    # --- columns ----------------------------------------------------------------------------------------------

    def _text_keys_of(self, table: FollowedTable) -> frozenset[str]:
        shown = (column for column in table.columns if not column.is_hidden)
        texts = (column.name for column in shown if column.column(self.name).field.type.kind == "string")
        return self._text_keys(key_of(table), texts)

    def _lines_of(
        self,
        columns: Sequence[LoggedColumn],
        state: LogState,
        changes: ChangesRead,
        files: WindowFiles | None = None,
    ) -> Reading:
        shown = tuple(column.column(self.name) for column in columns if not column.is_hidden)
        fields = tuple(column.field for column in shown)
        return self._reading_of(fields, RowsReader(shown), (state.position, state.to_text()), changes, files)


def _numbered(rows: Iterator[list[tuple[bytes | None, ...]]], check: Callable[[], None]) -> Iterator[tuple[int, bytes]]:
    """Yield the lines of all rows, with their numbers."""
    number = 0
    for some in rows:
        check()
        for row in some:
            number += 1
            yield number, line_of(row[1:])
