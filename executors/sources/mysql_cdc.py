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
from threading import Event

from psycopg import sql

from executors.change_log.copies import copies_on
from executors.change_log.net_effect import Changes
from executors.change_log.window_files import LinesPart, WindowFiles
from executors.changes import ChangesRead
from executors.errors import Terminal, Transient, of_node
from executors.model import SourceField, SourceState
from executors.mysql.client import Session, connect, database_of, interrupt
from executors.mysql.statements import text_of
from executors.mysql_cdc.columns import Layout, LoggedColumn, find_characters
from executors.mysql_cdc.log import Logged, LogReader, open_log, require_position
from executors.mysql_cdc.rows import RowsReader, line_of
from executors.mysql_cdc.state import LogPosition, LogState
from executors.mysql_cdc.statements import Statements
from executors.mysql_cdc.tables import FollowedTable, find_position, find_table, require_server
from executors.mysql_cdc.window import Bounds, LogOf, Window, WindowReader
from executors.reading import NoReader, Origin, Reading
from executors.sources.base import SnapshotSource, SourceContext
from executors.sources.mysql import MysqlSource
from executors.sources.spooled import open_spool
from ir.connectors import config_of
from ir.connectors.mysql_cdc import MysqlCdcConfig
from ir.nodes import Source
from ir.pipeline import Path

_STALE_BYTES = 16 << 20
"""From this size on, a part of the log without changes of the table is committed too, so that it is not read again."""

_NOTHING = Reading((), (), (), NoReader(), 0, is_nothing=True)


class MysqlCdc(SnapshotSource):
    """One source node, for one target."""

    def __init__(self, source: Source, context: SourceContext) -> None:
        super().__init__(source, context)
        if context.store is None:
            raise TypeError(f"{source.connector} reads through a connection")
        self._source, self._connection = source, database_of(context.store)
        self._config = config_of(source, MysqlCdcConfig)
        self._database = self._config.table.database or self._connection.database
        self._seconds = max(1, int(context.query_seconds))
        self._tag = f"flow run {context.claimant.run_id} follows {self.node}"
        self._rows: MysqlSource | None = None
        self._stopped = Event()

    @property
    def name(self) -> str:
        return f"{self._database}.{self._config.table.name}"

    @property
    def is_shared(self) -> bool:
        return True

    @property
    def state_settings(self) -> str:
        settings = [self._source.connection, self._database, self._config.table.name]
        return hashlib.sha256(json.dumps(settings).encode()).hexdigest()

    @property
    def _path(self) -> Path:
        """The path to the target. A source of changes has one."""
        return self.context.paths[0]

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

    def _check(self) -> None:
        if self._stopped.is_set():
            raise Transient("source.interrupted", f"Reading {self.name} was interrupted.", node=self.node)

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

    def _named_key(self, columns: Sequence[str]) -> Sequence[str]:
        """Return the columns of the source that become those of `upsertKey`."""
        copies = copies_on(self._path, columns).of
        named = {copy: source for source, found in copies.items() for copy in found}
        return [named.get(column, column) for column in self._path.target.upsert_key or ()]

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
            return self._reading_of(table, table.columns, state, ChangesRead(self._key(table)), 0, ())
        shown = [column for column in table.columns if not column.is_hidden]
        selected = (column.column(self.name).selected for column in shown)
        statement = sql.SQL("SELECT 0, {} FROM {} q").format(sql.SQL(", ").join(selected), table.quoted)
        with WindowFiles(self._folder) as files:
            lines = _Lines(session.stream(text_of(statement, self._tag)), self._check)
            files.rows(iter(lines))
            session.require_whole()
        changes = ChangesRead(self._key(table), is_snapshot=True, text_keys=self._text_keys(table))
        return self._reading_of(table, table.columns, state, changes, lines.count, files.parts)

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
            return _NOTHING
        with Changes(self._folder) as changes, WindowFiles(self._folder) as files:
            log = LogOf(self._events, lambda columns: self._layout(session, columns))
            window = WindowReader(table, statements, before, changes, log, bounds).read()
            if changes.is_empty and not self._must_commit(before, window):
                return _NOTHING
            effect = changes.reduce(files)
        beside = ChangesRead(
            self._key(table),
            files.beside,
            text_keys=self._text_keys(table),
            deleted=effect.deleted,
            replaced=effect.replaced,
            truncates=effect.truncates,
        )
        return self._reading_of(table, window.columns, window.state, beside, effect.rows, files.parts)

    @staticmethod
    def _must_commit(before: LogState, window: Window) -> bool:
        """Whether a window without changes moves the state, so that its part of the log is not read again."""
        after = window.state
        return after.file != before.file or after.offset - before.offset >= _STALE_BYTES

    def _events(self, start: LogPosition) -> Iterator[tuple[LogReader, Logged]]:
        with open_log(self._connection, self._reader) as log:
            for logged in log.read(start, self._check):
                yield log, logged

    @property
    def _reader(self) -> int:
        """The number of the reader: it is the same in all runs of this node, and above those that people choose."""
        claimant = self.context.claimant
        text = f"{claimant.tenant}\n{claimant.pipeline}\n{self.node}"
        return int.from_bytes(hashlib.sha256(text.encode()).digest()[:4]) | 1 << 31

    def _layout(self, session: Session, columns: Sequence[LoggedColumn]) -> Layout:
        @cache
        def characters(charset: str) -> Sequence[bytes]:
            return find_characters(session, charset, self.name)

        return Layout(self.name, columns, characters)

    # --- columns ----------------------------------------------------------------------------------------------

    def _key(self, table: FollowedTable) -> tuple[str, ...]:
        shown = (column.name for column in table.columns if not column.is_hidden)
        return copies_on(self._path, shown).require(table.key, self.node)

    def _text_keys(self, table: FollowedTable) -> frozenset[str]:
        """Return the columns of the key, as the target names them, whose values are texts at the source."""
        texts = {
            column.name
            for column in table.columns
            if not column.is_hidden and column.column(self.name).field.type.kind == "string"
        }
        return frozenset(new for old, new in zip(table.key, self._key(table), strict=True) if old in texts)

    def _reading_of(
        self,
        table: FollowedTable,
        columns: Sequence[LoggedColumn],
        state: LogState,
        changes: ChangesRead,
        rows: int,
        parts: Sequence[LinesPart],
    ) -> Reading:
        shown = tuple(column.column(self.name) for column in columns if not column.is_hidden)
        fields: tuple[SourceField, ...] = tuple(column.field for column in shown)
        identity = f"{self.context.claimant.run_id}\n{self.node}\n{state.position}"
        sha256 = hashlib.sha256(identity.encode()).hexdigest()
        known = tuple((field.name, str(field.type)) for field in fields)
        after = SourceState(self.state_settings, state.to_text(), known)
        return Reading(
            fields=fields,
            origins=(Origin(0, self.name, sha256, is_unit=False, state=after, source=self.node),),
            parts=tuple(parts),
            reader=RowsReader(shown),
            records=rows,
            changes=changes,
        )


class _Lines:
    """The lines of all rows, with their numbers. `count` is that of the lines so far."""

    def __init__(self, rows: Iterator[list[tuple[bytes | None, ...]]], check: Callable[[], None]) -> None:
        self._rows, self._check, self.count = rows, check, 0

    def __iter__(self) -> Iterator[tuple[int, bytes]]:
        for rows in self._rows:
            self._check()
            for row in rows:
                self.count += 1
                yield self.count, line_of(row[1:])
