"""`postgres_cdc`: all rows of a table in the first load, then its changes from the write-ahead log.

The state is a position in the log. It is committed with the rows, and the server may remove the log only before
a committed position.
"""

from __future__ import annotations

import hashlib
import json
import secrets
import time
from collections.abc import Callable, Sequence
from contextlib import ExitStack, suppress
from dataclasses import replace

from executors.change_log.copies import copies_on
from executors.change_log.net_effect import Changes
from executors.change_log.window_files import WindowFiles
from executors.changes import ChangesRead
from executors.errors import Failure, Terminal
from executors.model import RunJob, SourceField, SourceState
from executors.postgres.client import charset_of, connect, translate
from executors.postgres.ddl import Conn
from executors.postgres.read import as_source
from executors.postgres_cdc.columns import current_columns, fields_of, logged_columns, refuse_filled, refuse_replaced
from executors.postgres_cdc.continuity import require_same_source, require_target_has
from executors.postgres_cdc.keys import find_key, key_of
from executors.postgres_cdc.log_watch import LogWatch, open_watch
from executors.postgres_cdc.names import names_of
from executors.postgres_cdc.reader import LinesReader
from executors.postgres_cdc.replication import ReplicationSession, replication_session
from executors.postgres_cdc.slots import (
    Slot,
    drop_slot,
    find_position,
    find_slot,
    ready_publication,
    release,
    require_continued,
    require_server,
    require_usable,
)
from executors.postgres_cdc.state import LogState
from executors.postgres_cdc.tables import FollowedTable, find_table
from executors.postgres_cdc.window import STALE_BYTES, Bounds, Window, WindowReader
from executors.reading import Reading
from executors.report import RunWarning
from executors.sources.base import SourceContext
from executors.sources.followed_rows import FollowedRows
from executors.sources.log_source import NOTHING, LogSource, SourceKey
from executors.sources.spooled import open_spool
from ir.connectors import config_of
from ir.connectors.postgres_cdc import PostgresCdcConfig
from ir.nodes import Source


class PostgresCdc(LogSource):
    def __init__(self, source: Source, context: SourceContext) -> None:
        super().__init__(source, context)
        if context.connection is None:
            raise TypeError(f"{source.connector} reads through a connection")
        self._connection = context.connection
        self._config = config_of(source, PostgresCdcConfig)
        self._names = names_of(context.claimant.tenant, context.claimant.pipeline, source)
        self._rows: FollowedRows | None = None
        self._session: ReplicationSession | None = None
        self._after: LogState | None = None
        self._noted: dict[str, RunWarning] = {}

    @property
    def name(self) -> str:
        return f"{self._config.table.schema_}.{self._config.table.name}"

    @classmethod
    def find_key(cls, job: RunJob, source: Source) -> SourceKey:
        return find_key(job, source)

    @classmethod
    def open_watch(cls, job: RunJob, source: Source, start: object, check: Callable[[], None]) -> LogWatch:
        return open_watch(job, source, check)

    @property
    def warnings(self) -> Sequence[RunWarning]:
        return list(self._noted.values())

    @property
    def state_settings(self) -> str:
        table = self._config.table
        settings = [self._source.connection, table.schema_, table.name, self._names.slot, self._names.publication]
        return hashlib.sha256(json.dumps(settings).encode()).hexdigest()

    @property
    def _application(self) -> str:
        return f"flow run {self.context.claimant.run_id} follows"

    def open(self, stack: ExitStack) -> None:
        self._stack = stack
        if self.context.read_only:
            self._rows = FollowedRows(self._source, self.context, None, "")
            self._rows.open(stack)
            return
        self._folder = open_spool(self.context, self.node, stack)
        with as_source(self.node):
            self._conn: Conn = stack.enter_context(
                connect(self._connection, autocommit=True, application_name=self._application)
            )

    def loaded(self) -> None:
        """Let the server forget the log before the committed state. Otherwise the next run does it."""
        after = self._after
        if after is None:
            return
        with as_source(self.node), replication_session(self._connection, self._names.reader) as session:
            session.start(after.slot, after.publication, after.lsn)
            session.confirm(after.lsn, asks=True)
            for received in session.messages(after.lsn, self._check):
                if not received.data:
                    return

    def interrupt(self) -> None:
        self._stopped.set()
        if (rows := self._rows) is not None:
            rows.interrupt()
        if (session := self._session) is not None:
            with suppress(Exception):
                session.cancel()

    def reading(self, *, is_last: bool = False, state: SourceState | None = None) -> Reading:
        if self.context.read_only and self._rows is not None:
            return self._rows.reading(is_last=is_last)
        try:
            with as_source(self.node), translate():
                self._guarded = require_server(self._conn)
                table = find_table(self._conn, self._config.table, self._named_key)
                if state is None:
                    return self._first(self._published(table))
                before = LogState.from_text(state.value)
                # Before a publication is created, perhaps on a wrong server.
                require_same_source(before, find_position(self._conn), table)
                return self._window(self._published(table), before, state)
        except Failure:
            self._check()  # an interruption ends statements with other errors
            raise

    def _published(self, table: FollowedTable) -> FollowedTable:
        """Return the table with the columns that the publication contains, and note what people should know."""
        published = ready_publication(self._conn, table, self._names.publication, is_own=self._names.owns_publication)
        table = table.published(published)
        if table.left_out:
            text = f"Generated columns that the log does not contain are left out: {', '.join(table.left_out)}."
            self._noted["left out"] = RunWarning("cdc.columns_left_out", self.node, text)
        if not self._guarded:
            text = (
                "max_slot_wal_keep_size of the server is -1: while this pipeline does not run, the log that its slot "
                "retains can fill the disk of the server. Set a limit, such as 20GB."
            )
            self._noted["unguarded"] = RunWarning("cdc.slot_unguarded", self.node, text)
        return table

    # --- the first load ---------------------------------------------------------------------------------------

    def _first(self, table: FollowedTable) -> Reading:
        """Return all rows as they are at a position from which the slot has all changes."""
        session = self._stack.enter_context(replication_session(self._connection, self._names.reader))
        self._session = session
        system, timeline = session.identify()
        names, numbers = self._names, table.numbers
        state = LogState(0, system, timeline, names.slot, names.publication, table.oid, time.time(), columns=numbers)
        adopted = self._adopted()
        if adopted is not None and self._config.snapshot == "never":
            return self._no_rows(table, replace(state, lsn=adopted.confirmed))
        # The snapshot of a slot that exists already has ended, so another slot exports one.
        name = self._names.slot if adopted is None else f"flow_{secrets.token_hex(16)}"
        created = session.create_slot(name, is_temporary=adopted is not None)
        self.context.log(f"The replication slot {self._names.slot} has the changes from now on.")
        state = replace(state, lsn=created.consistent_point)
        if self._config.snapshot == "never":
            return self._no_rows(table, state)
        self._rows = FollowedRows(self._source, self.context, table, created.snapshot)
        self._rows.open(self._stack)
        # The snapshot has been imported, and the session may end.
        self._session = None
        session.close()
        reading = self._rows.reading(is_last=True)
        self._after = state
        after = self._state_of(state.to_text(), reading.fields)
        origins = tuple(replace(origin, state=after) for origin in reading.origins)
        changes = ChangesRead(self._target_key(key_of(table)), is_snapshot=True, text_keys=self._text_keys_of(table))
        return replace(reading, origins=origins, changes=changes)

    def _adopted(self) -> Slot | None:
        """Return the slot that a person has named, if it exists. Drop Flow's own slot of a first load that has failed,
        or of an earlier table."""
        slot = find_slot(self._conn, self._names.slot)
        if slot is None:
            return None
        release(self._conn, slot, self._names.reader, self._check)
        if self._names.owns_slot:
            drop_slot(self._conn, self._names.slot)
            return None
        require_usable(slot)
        if slot.status == "lost":
            raise Terminal(
                "cdc.slot_lost",
                f"The server has removed log that the slot {slot.name} needs.",
                hint=f"SELECT pg_drop_replication_slot('{slot.name}'), then run again: Flow creates it again.",
            )
        return slot

    def _no_rows(self, table: FollowedTable, state: LogState) -> Reading:
        fields = fields_of(current_columns(self._conn, table), frozenset())
        return self._lines_of(fields, state, ChangesRead(self._target_key(key_of(table))))

    # --- windows of changes -----------------------------------------------------------------------------------

    def _window(self, table: FollowedTable, before: LogState, state: SourceState) -> Reading:
        position = find_position(self._conn)
        slot = require_continued(find_slot(self._conn, before.slot), before.slot, before.lsn)
        if position.lsn <= before.lsn:
            return NOTHING
        release(self._conn, slot, self._names.reader, self._check)
        copies = copies_on(self._path, (column.name for column in table.relation_columns))
        with (
            Changes(self._folder) as changes,
            WindowFiles(self._folder) as files,
        ):
            window = self._read(table, before, Bounds(until=position.lsn), changes)
            if changes.is_empty and window.lsn - before.lsn < STALE_BYTES:
                return NOTHING
            columns = logged_columns(self._conn, table, window.columns or table.relation_columns)
            refuse_replaced(table, before.columns, columns)
            refuse_filled(table, state, columns)
            effect = changes.reduce(files)
        require_target_has({columns[place].name for place in files.unchanged}, copies, table)
        after = replace(
            before,
            lsn=window.lsn,
            more=window.more,
            committed_at=window.committed_at if window.more and window.committed_at else time.time(),
            columns={**before.columns, **{c.name: table.numbers[c.name] for c in columns if c.name in table.numbers}},
        )
        beside = ChangesRead(
            self._target_key(key_of(table)),
            files.beside,
            [column.name for column in columns],
            copies.of,
            self._text_keys_of(table),
            effect.deleted,
            effect.replaced,
            effect.incomplete,
            effect.truncates,
        )
        return self._lines_of(fields_of(columns, window.beyond), after, beside, files)

    def _read(self, table: FollowedTable, before: LogState, bounds: Bounds, changes: Changes) -> Window:
        with replication_session(self._connection, self._names.reader) as session:
            self._session = session
            try:
                session.start(before.slot, before.publication, before.lsn)
                reader = WindowReader(
                    table, changes, lambda columns: logged_columns(self._conn, table, columns), self._check
                )
                return reader.read(session, before.lsn, bounds)
            finally:
                self._session = None

    # --- readings ---------------------------------------------------------------------------------------------

    def _text_keys_of(self, table: FollowedTable) -> frozenset[str]:
        columns = current_columns(self._conn, table)
        return self._text_keys(key_of(table), (column.name for column in columns if column.type.kind == "string"))

    def _lines_of(
        self, fields: tuple[SourceField, ...], state: LogState, changes: ChangesRead, files: WindowFiles | None = None
    ) -> Reading:
        self._after = state
        reader = LinesReader(charset_of(self._conn).encoding == "SQL_ASCII")
        return self._reading_of(fields, reader, (state.lsn, state.to_text()), changes, files)
