"""Applies events of rows to the changes of a window."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from executors.change_log.net_effect import Changes
from executors.errors import Terminal
from executors.mysql_cdc.columns import Layout
from executors.mysql_cdc.events import (
    DELETES,
    WRITES,
    Event,
    parse_rows,
    parse_table_map,
    parse_table_name,
    rows_table,
)
from executors.mysql_cdc.rows import RowImages
from executors.mysql_cdc.statements import Statements
from executors.mysql_cdc.tables import FollowedTable


class RowChanges:
    """The changes of rows of one table. Events of rows name their table by a number, which an event before them has
    given to it."""

    def __init__(self, table: FollowedTable, statements: Statements, changes: Changes) -> None:
        self._table, self._statements, self._changes = table, statements, changes
        self._images: dict[int, RowImages | None] = {}

    def take_table(self, event: Event, layout: Layout | None) -> None:
        """Take the number of a table. Without a layout, the first rows give one."""
        number, database, name = parse_table_name(event.body)
        if not self._statements.names(database, name):
            self._images.pop(number, None)
            return
        self._waiting = event
        self._images[number] = None if layout is None else self._images_of(event, layout)

    def take_layout(self, rows: Event, layout: Layout) -> None:
        """Take the layout of rows whose table was named without one."""
        self._images[rows_table(rows.body)] = self._images_of(self._waiting, layout)

    def has(self, rows: Event) -> bool:
        """Whether these are rows of the table."""
        return rows_table(rows.body) in self._images

    def forget(self) -> None:
        """Forget the numbers, because the columns have changed."""
        self._images.clear()

    @contextmanager
    def elsewhere(self) -> Iterator[None]:
        """Read another part of the log, where numbers may have other meanings."""
        images, self._images = self._images, {}
        yield
        self._images = images

    def apply(self, event: Event) -> None:
        """Apply the rows of an event. Raises Terminal `cdc.rows_incomplete`."""
        rows = parse_rows(event)
        images = self._images.get(rows.table)
        if images is None:
            return
        if not rows.is_whole:
            raise Terminal(
                "cdc.rows_incomplete",
                f"The log contains changes of {self._table} without all columns: a session has set binlog_row_image to "
                "another value than FULL.",
                hint="Set binlog_row_image=FULL for all sessions, then load the table again, with a reason.",
            )
        if event.kind in WRITES:
            for new in images.rows(rows.data):
                self._changes.set_row(images.key(new), images.line(new))
        elif event.kind in DELETES:
            for old in images.rows(rows.data):
                self._changes.drop_row(images.key(old))
        else:
            pairs = images.rows(rows.data)
            for old in pairs:
                new = next(pairs)
                before, after = images.key(old), images.key(new)
                self._changes.set_row(after, images.line(new), moved_from=before if before != after else None)

    def _images_of(self, event: Event, layout: Layout) -> RowImages:
        found = parse_table_map(event.body)
        decoders = layout.decoders(found.columns, found.names, self._table.hidden)
        return RowImages(layout, decoders, self._table.key, str(self._table))
