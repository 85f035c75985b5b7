"""Sources of which one statement reads all rows of a target, in one task and at one moment."""

from __future__ import annotations

import hashlib
from abc import abstractmethod
from collections.abc import Sequence
from datetime import datetime
from typing import Generic, Protocol, TypeVar

from psycopg import sql

from executors.backfill.extents import ChunkCounting, Cursor, Extent, RowGroup
from executors.errors import of_node
from executors.model import SourceField, SourceState
from executors.reading import Bound, Origin, PartReader, QueryPart, Reading
from executors.sources.base import SnapshotSource
from executors.sources.statement_chunks import CursorDialect, FetchedRow, StatementHistory


class StatementColumn(Protocol):
    """A column of the source."""

    @property
    def field(self) -> SourceField: ...


C = TypeVar("C", bound=StatementColumn)


class OneStatementSource(SnapshotSource, Generic[C]):
    """The rows of a table or query. A subclass opens the source and sets `columns` and `rows`: a table, or a query in
    parentheses."""

    columns: Sequence[C]
    rows: sql.Composable
    _first = sql.SQL("")
    """What each row begins with, before its columns."""
    _limit = "(SELECT * FROM {rows} q {order} LIMIT {n})"
    _random_order = "ORDER BY random()"

    @abstractmethod
    def _selected(self, column: C) -> sql.Composable:
        """Return the entry of the select list, for the row `q`."""

    @abstractmethod
    def _compared(self, column: C, bound: Bound) -> sql.Composable | None:
        """Return the condition for the rows at or above a bound and for those that have no place in its order; None if
        the database does not compare the values as the target does."""

    def _text(self, statement: sql.Composable) -> str:
        """Return the text of a statement."""
        return statement.as_string()

    @property
    def _cursors(self) -> CursorDialect:
        """Return how the database writes conditions on cursors of backfills."""
        raise self._cannot_be_divided()

    def _fetch(self, statement: sql.Composable, columns: int) -> Sequence[FetchedRow]:
        """Return the rows of a statement with few of them, as texts; its columns are `c0`, `c1` and so on."""
        raise self._cannot_be_divided()

    @abstractmethod
    def _reader(self) -> PartReader:
        """Return the reader of the statement."""

    @abstractmethod
    def _is_empty(self) -> bool:
        """Return whether there is no row."""

    def reading(self, *, is_last: bool = False, state: SourceState | None = None) -> Reading:
        return self._reading(None)

    def _reading(self, bound: Bound | None) -> Reading:
        chunk = self.context.chunk
        sums = chunk is not None and chunk.sums
        if self.context.rate is not None:
            self.context.rate.take(1 + sums)
        # Before the rows are read: a change between the two is then reported, and not missed.
        cursor_sum = self._history.sum_of(chunk) if chunk is not None and sums else ""
        shown = f"{self.name}: {chunk.chunk.predicate}" if chunk else self.name
        identity = hashlib.sha256(f"{self.context.claimant.run_id}\n{self.node}\n{self.name}".encode()).hexdigest()
        return Reading(
            fields=tuple(column.field for column in self.columns),
            origins=(Origin(0, shown, identity, is_unit=False, source=self.node),),
            parts=(QueryPart(self._select(bound)),),
            reader=self._reader(),
            records=None,
            keeps_order=False,
            with_bound=self._reading,
            is_empty=self._is_empty,
            cursor_sum=cursor_sum,
        )

    def _select(self, bound: Bound | None) -> str:
        columns = sql.SQL(", ").join(map(self._selected, self.columns))
        where = (self._past(bound) if bound is not None else None) or sql.SQL("1 = 1")
        if self.context.chunk is not None:
            where = sql.SQL("{} AND {}").format(self._history.of_chunk(self.context.chunk), where)
        return self._text(sql.SQL("SELECT {}{} FROM {} q WHERE {}").format(self._first, columns, self.rows, where))

    def _past(self, bound: Bound) -> sql.Composable | None:
        column = next((column for column in self.columns if column.field.name == bound.column), None)
        return self._compared(column, bound) if column is not None else None

    # --- backfills -------------------------------------------------------------------------------------------

    @property
    def _history(self) -> StatementHistory:
        fields = [column.field for column in self.columns]
        return StatementHistory(self.name, self.rows, fields, self._cursors, self._fetch)

    @property
    def can_count(self) -> bool:
        return True

    def find_extent(self, column: str, latest: datetime) -> Extent:
        with of_node(self.node):
            return self._history.extent(column, latest)

    def cursor_of(self, column: str) -> Cursor:
        with of_node(self.node):
            return self._history.cursor(column)

    def count_rows(self, counting: ChunkCounting) -> Sequence[RowGroup]:
        with of_node(self.node):
            return self._history.groups(counting)

    def _limited(self, rows: sql.Composable) -> sql.Composable:
        """Return the rows that a preview or a sample reads."""
        limit = self.context.limit
        if limit is None:
            return rows
        first = self._first_of(rows, limit.random_of or limit.rows)
        return first if limit.random_of is None else self._first_of(first, limit.rows, self._random_order)

    def _first_of(self, rows: sql.Composable, count: int, order: str = "") -> sql.Composable:
        return sql.SQL(self._limit).format(rows=rows, order=sql.SQL(order), n=count)
