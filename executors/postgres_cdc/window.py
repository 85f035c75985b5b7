"""Reads one window of the log: whole transactions, up to a position or until there are enough changes."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from executors.change_log.effects import Key
from executors.change_log.net_effect import Changes
from executors.errors import Terminal
from executors.model import DestinationColumn
from executors.postgres_cdc.lines import LineWriter, unchanged_in
from executors.postgres_cdc.plain_rows import PlainRows, plain_rows
from executors.postgres_cdc.protocol import (
    UNCHANGED,
    Begin,
    Change,
    Commit,
    Message,
    Relation,
    RelationColumn,
    Row,
    Truncate,
    decode,
    decode_change,
)
from executors.postgres_cdc.replication import ReplicationSession
from executors.postgres_cdc.tables import FollowedTable

_EPOCH_2000 = 946_684_800
_CHECKED_EVERY = 1_000
_ONE_ROW, _UPDATE, _NEW_ROW = b"ID", ord("U"), ord("N")
_MOST_WAITING, _MOST_WAITING_BYTES = 4_096, 1 << 20
_FEWEST_TOGETHER = 64
"""Fewer rows cost less one by one."""
STALE_BYTES = 16 << 20
"""From this size on, a part of the log without changes of the table is committed too, so that the server can remove
it."""


@dataclass(frozen=True, slots=True)
class Bounds:
    """Where a window ends: at the first transaction that commits at or after `until`, or after one that exceeds a
    number of changes, bytes or seconds."""

    until: int
    changes: int = 2_000_000
    size: int = 4 << 30
    seconds: float = 600


@dataclass(frozen=True, slots=True)
class Window:
    """What was read: all transactions that commit before `lsn`. `columns` are those of the table in these
    transactions, None if there were none; `beyond` are the positions of columns with values that Arrow cannot
    represent. `committed_at` is the time of the last transaction in seconds since 1970, None without one. With
    `more`, the log contains further transactions before the bound."""

    lsn: int
    columns: tuple[RelationColumn, ...] | None
    beyond: frozenset[int]
    committed_at: float | None
    more: bool


class WindowReader:
    """Reads a window of one table into `changes`. `describe` returns the types of columns, `check` raises if the run
    was cancelled."""

    def __init__(
        self,
        table: FollowedTable,
        changes: Changes,
        describe: Callable[[Sequence[RelationColumn]], Sequence[DestinationColumn]],
        check: Callable[[], None],
    ) -> None:
        self._table, self._changes = table, changes
        self._describe, self._check = describe, check
        self._columns: tuple[RelationColumn, ...] | None = None
        self._writer: LineWriter | None = None
        self._key: tuple[int, ...] = ()
        self._committed_at: float | None = None
        self._end = 0
        self._oid = table.oid.to_bytes(4)
        self._waiting: list[bytes] = []
        self._waiting_bytes = 0
        self._begins_at: int | None = None
        self._is_inside = self._has_begun = False

    def read(self, session: ReplicationSession, start: int, bounds: Bounds) -> Window:
        """Read from a position on, from which the session has been started."""
        self._end, deadline, seen = start, time.monotonic() + bounds.seconds, 0
        for received in session.messages(start, self._check):
            if not received.data:
                if not self._is_inside and received.lsn >= bounds.until:
                    return self._window(max(self._end, bounds.until), more=False)
                continue
            seen += 1
            if not seen % _CHECKED_EVERY:
                self._check()
            if self._waits(received.data):
                continue
            message = decode(received.data)
            if isinstance(message, Change):
                self._take_change(message)
                continue
            if isinstance(message, Begin) and message.commit_lsn >= bounds.until:
                return self._window(max(self._end, bounds.until), more=False)
            if not self._takes(message):
                return self._window(self._end, more=True)
            if isinstance(message, Commit) and (self._is_full(bounds) or time.monotonic() > deadline):
                return self._window(self._end, more=self._end < bounds.until)
        raise AssertionError("the stream of messages has no end")

    def _waits(self, data: bytes) -> bool:
        """Return whether a message waits for others like it, because rows cost less together. It is one about a row of
        the table without its values before an update."""
        kind = data[0]
        if data[1:5] != self._oid or not (kind in _ONE_ROW or (kind == _UPDATE and data[5] == _NEW_ROW)):
            return False
        if not self._has_begun:
            self._begins_at, self._has_begun = len(self._waiting), True
        self._waiting.append(data)
        self._waiting_bytes += len(data)
        if len(self._waiting) >= _MOST_WAITING or self._waiting_bytes >= _MOST_WAITING_BYTES:
            self._take_waiting()
        return True

    def _take_waiting(self) -> None:
        """Take the rows that wait, of earlier transactions before those of the current one."""
        waiting, at = self._waiting, self._begins_at
        self._waiting, self._waiting_bytes, self._begins_at = [], 0, None
        if at is not None:
            self._add_rows(waiting[:at])
            self._changes.begin()
            waiting = waiting[at:]
        self._add_rows(waiting)

    def _add_rows(self, messages: Sequence[bytes]) -> None:
        columns, writer, rows = self._columns, self._writer, None
        if len(messages) >= _FEWEST_TOGETHER and columns is not None and writer is not None:
            rows = plain_rows(messages, self._key, len(columns), writer)
        if rows is None:
            rows = PlainRows([], [], list(range(len(messages))))
        at = 0
        for place in rows.others:
            self._changes.set_rows(rows.keys[at:place], rows.lines[at:place])
            self._add(decode_change(messages[place]))
            at = place + 1
        self._changes.set_rows(rows.keys[at:], rows.lines[at:])

    def _takes(self, message: Message | None) -> bool:
        """Take a message. Return False if it belongs to the next window: the rows before and after a change of the
        columns are loaded separately."""
        oid = self._table.oid
        if isinstance(message, Begin):
            self._is_inside, self._has_begun = True, False
        elif isinstance(message, Commit):
            self._is_inside, self._end = False, message.end_lsn
            self._committed_at = _EPOCH_2000 + message.committed_at / 1_000_000
        elif isinstance(message, Relation):
            return message.id != oid or message.columns == self._columns or self._follow(message)
        elif isinstance(message, Truncate) and oid in message.relations:
            self._take_waiting()
            self._begin()
            self._changes.truncate()
        return True

    def _take_change(self, change: Change) -> None:
        if change.relation == self._table.oid:
            self._take_waiting()
            self._begin()
            self._add(change)

    def _begin(self) -> None:
        if not self._has_begun:
            self._changes.begin()
            self._has_begun = True

    def _is_full(self, bounds: Bounds) -> bool:
        count, size = self._changes.count + len(self._waiting), self._changes.size + self._waiting_bytes
        return count >= bounds.changes or size >= bounds.size

    def _window(self, lsn: int, *, more: bool) -> Window:
        self._take_waiting()
        beyond = frozenset(self._writer.beyond) if self._writer else frozenset()
        return Window(lsn, self._columns, beyond, self._committed_at, more)

    def _follow(self, relation: Relation) -> bool:
        """Take the columns of the next changes. Return False if the window has changes with other columns."""
        self._take_waiting()
        columns = relation.columns
        if self._columns is not None and _shape(columns) != _shape(self._columns) and not self._changes.is_empty:
            self._undo()
            return False
        names = [column.name for column in columns]
        logged = {column.name for column in columns if column.in_key}
        key = set(self._table.key)
        if relation.identity == "n" or not key <= set(names) or (relation.identity != "f" and logged != key):
            raise Terminal(
                "cdc.key_changed",
                f"The key of {self._table} is {', '.join(self._table.key)} now, but the log identifies rows by "
                f"{', '.join(sorted(logged)) or 'nothing'} here.",
                hint="Load the table again. Nothing was changed.",
            )
        self._columns = columns
        self._writer = LineWriter(self._describe(columns))
        self._key = tuple(names.index(name) for name in self._table.key)
        return True

    def _undo(self) -> None:
        """Leave the current transaction to the next window. Raises Terminal `cdc.columns_changed_inside` if this window
        has no other one."""
        if self._has_begun:
            self._changes.undo()
        if self._changes.is_empty:
            raise Terminal(
                "cdc.columns_changed_inside",
                f"A transaction has changed rows of {self._table}, then its columns, then rows again.",
                hint="Load the table again, with a reason: flow run --load-again. Nothing was changed.",
            )

    def _add(self, change: Change) -> None:
        writer, new, old = self._writer, change.new, change.old
        if writer is None:
            raise Terminal("cdc.log_unreadable", "The server sent a change before the columns of its table.")
        if old is not None:
            old = writer.normal(old)
        if new is None:
            self._changes.drop_row(self._key_of(old or []))
            return
        new = writer.normal(new)
        if old is not None and not change.only_key:
            # With a full replica identity, the old row has the values that the update has not changed.
            new = [before if value is UNCHANGED else value for value, before in zip(new, old, strict=True)]
        missing = unchanged_in(new) if UNCHANGED in new else []
        if missing and old is not None and change.only_key:
            missing = self._fill_key(new, old, missing)
        key = self._key_of(new)
        before = self._key_of(old) if old is not None else key
        self._changes.set_row(key, writer.line(new), missing, moved_from=before if before != key else None)

    def _fill_key(self, new: Row, old: Row, missing: Sequence[int]) -> list[int]:
        """Fill large values of the key, which the log has only in the old row. Return what is still missing."""
        for i in self._key:
            if new[i] is UNCHANGED:
                new[i] = old[i]
        return unchanged_in(new)

    def _key_of(self, row: Row) -> Key:
        key = tuple([row[i] for i in self._key])
        if None in key or UNCHANGED in key:
            raise Terminal(
                "cdc.log_unreadable",
                f"A change of {self._table} has no value in its key.",
                hint="Load the table again, and please report this with the definition of the table.",
            )
        return key  # type: ignore[return-value]


def _shape(columns: Sequence[RelationColumn]) -> list[tuple[str, int, int]]:
    return [(column.name, column.type, column.typmod) for column in columns]
