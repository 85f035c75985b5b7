"""`postgres_cdc`: all rows of a table in the first load, then its changes from the write-ahead log.

The state is a position in the log. It is committed with the rows, and the server may remove the log only before
a committed position.
"""

from __future__ import annotations

import hashlib
import json
import secrets
import time
from collections.abc import Sequence, Set
from contextlib import ExitStack, suppress
from dataclasses import replace
from threading import Event

from executors.changes import ChangesRead
from executors.errors import Failure, Terminal, Transient
from executors.model import DestinationColumn, SourceField, SourceState
from executors.postgres.client import charset_of, connect, translate
from executors.postgres.ddl import Conn
from executors.postgres.inspect import inspect_target
from executors.postgres.names import quoted
from executors.postgres.read import as_source, field_of
from executors.postgres_cdc.copies import Copies, copies_on
from executors.postgres_cdc.net_effect import Changes
from executors.postgres_cdc.protocol import RelationColumn
from executors.postgres_cdc.replication import ReplicationSession, replication_session
from executors.postgres_cdc.slots import (
    Position,
    Slot,
    drop_slot,
    find_position,
    find_slot,
    name_of,
    ready_publication,
    release,
    require_continued,
    require_server,
    require_usable,
)
from executors.postgres_cdc.spool import LinesPart, LinesReader, WindowFiles
from executors.postgres_cdc.state import LogState
from executors.postgres_cdc.tables import FollowedTable, describe, find_table
from executors.postgres_cdc.window import Bounds, Window, WindowReader
from executors.reading import NoReader, Origin, Reading
from executors.report import RunWarning
from executors.sources.base import SnapshotSource, SourceContext
from executors.sources.postgres import PostgresSource
from executors.sources.spooled import open_spool
from ir.connectors import config_of
from ir.connectors.postgres_cdc import PostgresCdcConfig
from ir.nodes import Source
from ir.pipeline import Path
from ir.types import ColumnType

_STALE_BYTES = 16 << 20
"""From this size on, a part of the log without changes of the table is committed too, so that the server can remove
it."""

_NOTHING = Reading((), (), (), NoReader(), 0, is_nothing=True)


class PostgresCdc(SnapshotSource):
    """One source node, for one target."""

    def __init__(self, source: Source, context: SourceContext) -> None:
        super().__init__(source, context)
        if context.connection is None:
            raise TypeError(f"{source.connector} reads through a connection")
        self._source, self._connection = source, context.connection
        self._config = config_of(source, PostgresCdcConfig)
        claimant = context.claimant
        own = name_of(claimant.tenant, claimant.pipeline, source.id)
        self._slot, self._publication = self._config.slot or own, self._config.publication or own
        self._rows: PostgresSource | None = None
        self._session: ReplicationSession | None = None
        self._stopped = Event()
        self._after: LogState | None = None
        self._noted: dict[str, RunWarning] = {}

    @property
    def name(self) -> str:
        return f"{self._config.table.schema_}.{self._config.table.name}"

    @property
    def is_shared(self) -> bool:
        return True

    @property
    def warnings(self) -> Sequence[RunWarning]:
        return list(self._noted.values())

    @property
    def state_settings(self) -> str:
        table = self._config.table
        settings = [self._source.connection, table.schema_, table.name, self._slot, self._publication]
        return hashlib.sha256(json.dumps(settings).encode()).hexdigest()

    @property
    def _application(self) -> str:
        return f"flow run {self.context.claimant.run_id} follows"

    @property
    def _reader(self) -> str:
        """The name of the sessions that read the slot: it is the same in all runs of this node, and no other's."""
        claimant = self.context.claimant
        return f"flow reads {name_of(claimant.tenant, claimant.pipeline, self.node)}"

    def open(self, stack: ExitStack) -> None:
        self._stack = stack
        if self.context.read_only:
            self._rows = _TableRows(self._source, self.context, None, "")
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
        with as_source(self.node), replication_session(self._connection, self._reader) as session:
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

    def _check(self) -> None:
        if self._stopped.is_set():
            raise Transient("source.interrupted", f"Reading {self.name} was interrupted.", node=self.node)

    def reading(self, *, is_last: bool = False, state: SourceState | None = None) -> Reading:
        if self.context.read_only and self._rows is not None:
            return self._rows.reading(is_last=is_last)
        try:
            with as_source(self.node), translate():
                self._guarded = require_server(self._conn)
                table = self._find_table()
                if state is None:
                    return self._first(table)
                return self._window(table, LogState.from_text(state.value), state)
        except Failure:
            self._check()  # an interruption ends statements with other errors
            raise

    def _find_table(self) -> FollowedTable:
        table = find_table(self._conn, self._config.table, self._named_key)
        published = ready_publication(self._conn, table, self._publication, is_own=self._config.publication is None)
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

    def _named_key(self, columns: Sequence[str]) -> Sequence[str]:
        """Return the columns of the source that become those of `upsertKey`."""
        copies = copies_on(self._path, columns).of
        named = {copy: source for source, found in copies.items() for copy in found}
        return [named.get(column, column) for column in self._path.target.upsert_key or ()]

    @property
    def _path(self) -> Path:
        """The path to the target. A source of changes has one."""
        return self.context.paths[0]

    # --- the first load ---------------------------------------------------------------------------------------

    def _first(self, table: FollowedTable) -> Reading:
        """Return all rows as they are at a position from which the slot has all changes."""
        session = self._stack.enter_context(replication_session(self._connection, self._reader))
        self._session = session
        system, timeline = session.identify()
        state = LogState(0, system, timeline, self._slot, self._publication, table.oid, time.time())
        adopted = self._adopted()
        if adopted is not None and self._config.snapshot == "never":
            return self._no_rows(table, replace(state, lsn=adopted.confirmed))
        # The snapshot of a slot that exists already has ended, so another slot exports one.
        name = self._slot if adopted is None else f"flow_{secrets.token_hex(16)}"
        created = session.create_slot(name, is_temporary=adopted is not None)
        self.context.log(f"The replication slot {self._slot} has the changes from now on.")
        state = replace(state, lsn=created.consistent_point)
        if self._config.snapshot == "never":
            return self._no_rows(table, state)
        self._rows = _TableRows(self._source, self.context, table, created.snapshot)
        self._rows.open(self._stack)
        # The snapshot has been imported, and the session may end.
        self._session = None
        session.close()
        reading = self._rows.reading(is_last=True)
        origins = tuple(replace(origin, state=self._state(state, reading.fields)) for origin in reading.origins)
        changes = ChangesRead(self._key(table), is_snapshot=True, text_keys=self._text_keys(table))
        return replace(reading, origins=origins, changes=changes)

    def _adopted(self) -> Slot | None:
        """Return the slot that a person has named, if it exists. Drop Flow's own slot of a first load that has failed,
        or of an earlier table."""
        slot = find_slot(self._conn, self._slot)
        if slot is None:
            return None
        release(self._conn, slot, self._reader, self._check)
        if self._config.slot is None:
            drop_slot(self._conn, self._slot)
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
        fields = self._fields(self._now(table), frozenset())
        return self._reading_of(fields, state, ChangesRead(self._key(table)), 0, ())

    # --- windows of changes -----------------------------------------------------------------------------------

    def _window(self, table: FollowedTable, before: LogState, state: SourceState) -> Reading:
        position = find_position(self._conn)
        self._require_same_source(before, position, table)
        slot = require_continued(find_slot(self._conn, before.slot), before.slot, before.lsn)
        if position.lsn <= before.lsn:
            return _NOTHING
        release(self._conn, slot, self._reader, self._check)
        copies = copies_on(self._path, (column.name for column in table.relation_columns))
        with (
            Changes(self._folder) as changes,
            WindowFiles(self._folder) as files,
        ):
            window = self._read(table, before, Bounds(until=position.lsn), changes)
            if changes.is_empty and window.lsn - before.lsn < _STALE_BYTES:
                return _NOTHING
            columns = self._types(table, window.columns or table.relation_columns)
            _refuse_filled(table, state, columns)
            effect = changes.reduce(files)
        self._require_unchanged(copies, {columns[place].name for place in files.unchanged})
        after = replace(
            before,
            lsn=window.lsn,
            more=window.more,
            committed_at=window.committed_at if window.more and window.committed_at else time.time(),
        )
        beside = ChangesRead(
            self._key(table),
            files.beside,
            [column.name for column in columns],
            copies.of,
            self._text_keys(table),
            effect.deleted,
            effect.replaced,
            effect.incomplete,
            effect.truncates,
        )
        return self._reading_of(self._fields(columns, window.beyond), after, beside, effect.rows, files.parts)

    def _read(self, table: FollowedTable, before: LogState, bounds: Bounds, changes: Changes) -> Window:
        with replication_session(self._connection, self._reader) as session:
            self._session = session
            try:
                session.start(before.slot, before.publication, before.lsn)
                reader = WindowReader(table, changes, lambda columns: self._types(table, columns), self._check)
                return reader.read(session, before.lsn, bounds)
            finally:
                self._session = None

    def _require_same_source(self, before: LogState, now: Position, table: FollowedTable) -> None:
        """Refuse to read on in another history of the database, which may have other changes at the same position."""
        why = ""
        if before.system != now.system:
            why = "The connection leads to another server than before."
        elif before.timeline != now.timeline:
            why = "The server was restored or a standby took over, so changes may be missing or different."
        elif now.lsn < before.lsn:
            why = "The log of the server ends before the changes that the target has: it was restored."
        elif before.table != table.oid:
            why = f"{self.name} is another table of the same name now."
        if why:
            raise Terminal(
                "cdc.source_changed",
                f"{why} Nothing was changed.",
                node=self.node,
                hint="Check the source, then load the table again, with a reason: flow run --load-again.",
            )

    def _require_unchanged(self, copies: Copies, unchanged: Set[str]) -> None:
        """Refuse updates whose large values the log lacks if the target may not have these values, or if something
        before the target needs them."""
        if unchanged and (copies.may_reject or unchanged & copies.used):
            table = quoted(self._config.table.schema_, self._config.table.name)
            raise Terminal(
                "cdc.value_missing",
                f"An update of {self.name} lacks a large value that it has not changed, and a transform, a rule or the "
                "rejection of a row needs it.",
                node=self.node,
                hint=f"ALTER TABLE {table} REPLICA IDENTITY FULL, then load the table again.",
            )

    # --- columns ----------------------------------------------------------------------------------------------

    def _types(self, table: FollowedTable, columns: Sequence[RelationColumn]) -> tuple[DestinationColumn, ...]:
        """Return the types of columns as the log names them, which may be older than the table."""
        plain = [(column.name, column.type, column.typmod) for column in columns]
        if plain == [(column.name, column.type, column.typmod) for column in table.relation_columns]:
            return self._now(table)
        return describe(self._conn, columns)

    def _now(self, table: FollowedTable) -> tuple[DestinationColumn, ...]:
        found = inspect_target(self._conn, table.schema, table.name)
        names = {column.name for column in table.relation_columns}
        return tuple(column for column in (found.columns if found else ()) if column.name in names)

    def _fields(self, columns: Sequence[DestinationColumn], beyond: frozenset[int]) -> tuple[SourceField, ...]:
        return tuple(
            SourceField(column.name, ColumnType("pg", pg_name=column.declared)) if i in beyond else field_of(column)
            for i, column in enumerate(columns)
        )

    def _key(self, table: FollowedTable) -> tuple[str, ...]:
        return copies_on(self._path, (c.name for c in table.relation_columns)).require(table.key, self.node)

    def _text_keys(self, table: FollowedTable) -> frozenset[str]:
        """Return the columns of the key, as the target names them, whose values are texts at the source."""
        texts = {column.name for column in self._now(table) if column.type.kind == "string"}
        return frozenset(new for old, new in zip(table.key, self._key(table), strict=True) if old in texts)

    def _reading_of(
        self,
        fields: tuple[SourceField, ...],
        state: LogState,
        changes: ChangesRead,
        rows: int,
        parts: Sequence[LinesPart],
    ) -> Reading:
        identity = f"{self.context.claimant.run_id}\n{self.node}\n{state.lsn}"
        sha256 = hashlib.sha256(identity.encode()).hexdigest()
        after = self._state(state, fields)
        return Reading(
            fields=fields,
            origins=(Origin(0, self.name, sha256, is_unit=False, state=after, source=self.node),),
            parts=tuple(parts),
            reader=LinesReader(charset_of(self._conn).encoding == "SQL_ASCII"),
            records=rows,
            changes=changes,
        )

    def _state(self, state: LogState, fields: Sequence[SourceField]) -> SourceState:
        self._after = state
        columns = tuple((field.name, str(field.type)) for field in fields)
        return SourceState(self.state_settings, state.to_text(), columns)


def _refuse_filled(table: FollowedTable, before: SourceState, columns: Sequence[DestinationColumn]) -> None:
    """Refuse a new column that may have values in rows that existed before it: the log does not contain them."""
    known = {name for name, _ in before.columns}
    filled = {column.relation.name for column in table.columns if column.is_filled}
    new = [column.name for column in columns if column.name not in known and column.name in filled]
    if new:
        raise Terminal(
            "cdc.column_filled",
            f"The new column {', '.join(new)} of {table} may have values in rows that existed before it (it has a "
            "default or is NOT NULL), and the log does not contain them.",
            hint="Load the table again, with a reason: flow run --load-again. Nothing was changed.",
        )


class _TableRows(PostgresSource):
    """All rows of the table, in an exported snapshot if one is named. Without a table, all columns are read."""

    def __init__(self, source: Source, context: SourceContext, table: FollowedTable | None, snapshot: str) -> None:
        config = config_of(source, PostgresCdcConfig)
        place = {"schema": config.table.schema_, "name": config.table.name}
        super().__init__(source.model_copy(update={"connector": "postgres", "config": {"table": place}}), context)
        self._followed, self.imports = table, snapshot

    def _inspect(self) -> tuple[DestinationColumn, ...]:
        columns = super()._inspect()
        if self._followed is None:
            return columns
        names = {column.name for column in self._followed.relation_columns}
        return tuple(column for column in columns if column.name in names)
