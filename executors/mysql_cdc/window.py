"""Reads one window of the log: whole transactions, up to a position or until there are enough changes."""

from __future__ import annotations

import time
from dataclasses import replace

from executors.change_log.net_effect import Changes, Mark
from executors.errors import Terminal
from executors.mysql_cdc.bounds import Bounds, LogOf, Window
from executors.mysql_cdc.columns import Layout, columns_unknown
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
    Query,
    parse_group,
    parse_query,
)
from executors.mysql_cdc.log import MOST_OFFSET, Logged, LogReader
from executors.mysql_cdc.row_changes import RowChanges
from executors.mysql_cdc.state import LogPosition, LogState
from executors.mysql_cdc.statements import Effect, Statements
from executors.mysql_cdc.tables import FollowedTable
from executors.mysql_cdc.tokens import tokens_of

_OUTSIDE = Group(False, False, False, "")


class WindowReader:
    """Reads a window of one table into `changes`. `table` is as the server describes it now."""

    def __init__(
        self,
        table: FollowedTable,
        statements: Statements,
        before: LogState,
        changes: Changes,
        log: LogOf,
        bounds: Bounds,
    ) -> None:
        self._table, self._statements, self._before, self._changes = table, statements, before, changes
        self._log, self._bounds = log, bounds
        self._layout = log.layout(before.columns) if before.columns is not None else None
        self._rows = RowChanges(table, statements, changes)
        self._group = _OUTSIDE
        self._is_inside = self._touched = self._crossed = False
        self._savepoints: dict[str, Mark] = {}
        self._prepared = dict(before.prepared)
        self._group_start = self._end = before.position
        self._born, self._committed_at = before.born, 0.0
        self._dropped = set(before.dropped)

    def read(self) -> Window:
        """Read from the state before on. Raises Terminal `cdc.…`."""
        deadline = time.monotonic() + self._bounds.seconds
        is_known = False
        for reader, logged in self._log.events(self._before.position):
            if not is_known:
                self._require_same_file(reader)
                is_known = True
            if logged.event.kind == GTID:
                if logged.start >= self._bounds.until:
                    break
                if self._is_full() or time.monotonic() > deadline:
                    return self._window(more=True)
            if not self._takes(logged):
                return self._window(more=True)
            if not self._is_inside and logged.event.kind != ROTATE and logged.end.offset < MOST_OFFSET:
                self._end, self._born = logged.end, reader.file_born
        if self._is_inside:  # the server has not finished it
            self._changes.undo()
        self._require_same_columns()
        return self._window(more=False)

    def _require_same_file(self, reader: LogReader) -> None:
        if reader.born != self._before.born:
            raise Terminal(
                "cdc.source_changed",
                f"The server's log {self._before.file} is another file than before: it is another server, or its log "
                "was reset. Nothing was changed.",
                hint="Check the connection, then load the table again, with a reason: flow run --load-again.",
            )

    def _is_full(self) -> bool:
        return self._changes.count >= self._bounds.changes or self._changes.size >= self._bounds.size

    def _window(self, *, more: bool) -> Window:
        columns = self._layout.columns if self._layout is not None else None
        after = replace(
            self._before,
            file=self._end.file,
            offset=self._end.offset,
            born=self._born,
            columns=columns,
            prepared=self._prepared,
            dropped=tuple(sorted(self._dropped)),
            committed_at=self._committed_at if more and self._committed_at else time.time(),
            more=more,
        )
        return Window(after, columns if columns is not None else self._table.columns)

    def _require_same_columns(self) -> None:
        """Take the columns as they are now, after the last statement that has changed them. Refuse columns that no
        statement of the log has changed."""
        if self._layout is None:
            self._layout = self._layout_of_now()
        elif self._crossed is False and self._layout.columns != self._table.columns:
            raise columns_unknown(str(self._table))

    def _layout_of_now(self) -> Layout:
        """Return the columns after a statement that has changed them. Refuse one that was dropped before and has come
        back, because the target has values of the former one."""
        again = [column.name for column in self._table.columns if column.name.casefold() in self._dropped]
        if again:
            raise Terminal(
                "cdc.column_replaced",
                f"The column {again[0]} of {self._table} was dropped and added again. Rows that have not changed since "
                "have values that the log does not contain.",
                hint="Load the table again, with a reason: flow run --load-again. Nothing was changed.",
            )
        return self._log.layout(self._table.columns)

    # --- events -----------------------------------------------------------------------------------------------

    def _takes(self, logged: Logged) -> bool:
        """Take an event. Return False if its transaction belongs to the next window."""
        event = logged.event
        kind = event.kind
        if kind in ROWS:
            return self._take_rows(event)
        if kind == TABLE_MAP:
            self._rows.take_table(event, self._layout)
        elif kind == GTID:
            self._begin(logged)
        elif kind == XID:
            self._commit(event)
        elif kind in (QUERY, QUERY_COMPRESSED):
            return self._take_statement(logged)
        elif kind == XA_PREPARE:
            self._prepare(event)
        elif kind == INCIDENT:
            raise Terminal(
                "cdc.log_unreadable",
                "The server notes in its log that changes are missing from it.",
                hint="Load the table again, with a reason: flow run --load-again.",
            )
        elif kind not in (ROTATE, FORMAT):
            event.require_known()
        return True

    def _begin(self, logged: Logged) -> None:
        self._group = parse_group(logged.event.body)
        self._group_start = logged.start
        self._is_inside, self._touched = True, False
        self._savepoints.clear()
        self._changes.begin()

    def _commit(self, event: Event) -> None:
        self._is_inside = False
        self._committed_at = float(event.timestamp)

    def _prepare(self, event: Event) -> None:
        """Note an XA transaction, whose changes are read again when it is committed. Until then its rows are locked, so
        that nothing else changes them."""
        start = self._group_start
        self._prepared[self._group.xid] = (start.file, start.offset) if self._touched else None
        self._commit(event)

    # --- statements -------------------------------------------------------------------------------------------

    def _take_statement(self, logged: Logged) -> bool:
        query = parse_query(logged.event)
        if self._group.is_completed:
            self._complete(query.text)
            self._commit(logged.event)
            return True
        if not self._group.is_statement and self._ends(query.text, logged.event):
            return True
        effect = self._statements.effect(query)
        if effect is Effect.TRUNCATES:
            self._changes.truncate()
        elif effect is Effect.CHANGES_COLUMNS and not self._cross(logged, query):
            return False
        if self._group.is_statement:
            self._commit(logged.event)
        return True

    def _ends(self, text: str, event: Event) -> bool:
        """Follow the statements of transactions. Return whether it was one."""
        words = [token.word for token in tokens_of(text[:20])][:2]
        if words[:1] == ["COMMIT"]:
            self._commit(event)
        elif words == ["ROLLBACK", "TO"]:
            self._changes.undo_to(self._savepoints[_savepoint(text)])
        elif words[:1] == ["ROLLBACK"]:
            self._changes.undo()
            self._commit(event)
        elif words[:1] == ["SAVEPOINT"]:
            self._savepoints[_savepoint(text)] = self._changes.mark()
        else:
            return False
        return True

    def _cross(self, logged: Logged, query: Query) -> bool:
        """Pass a statement that changes the columns. Return False if rows before it are to be loaded first, or if it is
        younger than what is known of the columns."""
        if not self._changes.is_empty or logged.end > self._bounds.known:
            return False
        if any(place is not None for place in self._prepared.values()):
            raise Terminal(
                "cdc.columns_changed_inside",
                f"The columns of {self._table} were changed while an XA transaction with changes of its rows was open.",
                hint="Load the table again, with a reason: flow run --load-again. Nothing was changed.",
            )
        self._layout, self._crossed = None, True
        self._rows.forget()
        self._dropped |= self._statements.dropped(query)
        return True

    def _complete(self, text: str) -> None:
        """Read the changes of a committed XA transaction again."""
        xid = self._group.xid
        if xid not in self._prepared:
            raise Terminal(
                "cdc.xa_unknown",
                "The log completes an XA transaction that was prepared before the first load, and whose changes are "
                "therefore unknown.",
                hint="Load the table again, with a reason: flow run --load-again. Nothing was changed.",
            )
        place = self._prepared.pop(xid)
        if place is None or not text.upper().startswith("XA COMMIT"):
            return
        with self._rows.elsewhere():
            self._apply_prepared(LogPosition.of(*place))
        self._is_inside = True

    def _apply_prepared(self, start: LogPosition) -> None:
        for _, logged in self._log.events(start):
            event = logged.event
            if event.kind == XA_PREPARE:
                return
            if event.kind == TABLE_MAP:
                self._rows.take_table(event, self._layout)
            elif event.kind in ROWS:
                self._rows.apply(event)
            elif event.kind in (QUERY, QUERY_COMPRESSED):
                self._ends(parse_query(event).text, event)

    # --- rows -------------------------------------------------------------------------------------------------

    def _take_rows(self, event: Event) -> bool:
        if not self._rows.has(event):
            return True
        self._touched = True
        if self._group.is_prepared:
            return True
        if self._layout is None:
            # The columns are those of now, unless a later statement has changed them again.
            self._require_last_change()
            self._layout = self._layout_of_now()
            self._rows.take_layout(event, self._layout)
        self._rows.apply(event)
        return True

    def _require_last_change(self) -> None:
        """Check that no statement after this transaction changes the columns."""
        for _, logged in self._log.events(self._group_start):
            if logged.start >= self._bounds.until:
                return
            event = logged.event
            is_statement = event.kind in (QUERY, QUERY_COMPRESSED)
            if is_statement and self._statements.effect(parse_query(event)) is Effect.CHANGES_COLUMNS:
                raise columns_unknown(str(self._table))


def _savepoint(text: str) -> str:
    return tokens_of(text)[-1].text
