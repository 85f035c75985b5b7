"""Sources of which one statement reads all rows of a target, in one task and at one moment."""

from __future__ import annotations

import hashlib
from abc import abstractmethod
from collections.abc import Sequence
from typing import Generic, Protocol, TypeVar

from psycopg import sql

from executors.model import SourceField, SourceState
from executors.reading import Bound, Origin, PartReader, QueryPart, Reading
from executors.sources.base import SnapshotSource


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

    @abstractmethod
    def _reader(self) -> PartReader:
        """Return the reader of the statement."""

    @abstractmethod
    def _is_empty(self) -> bool:
        """Return whether there is no row."""

    def reading(self, *, is_last: bool = False, state: SourceState | None = None) -> Reading:
        return self._reading(None)

    def _reading(self, bound: Bound | None) -> Reading:
        identity = hashlib.sha256(f"{self.context.claimant.run_id}\n{self.node}\n{self.name}".encode()).hexdigest()
        return Reading(
            fields=tuple(column.field for column in self.columns),
            origins=(Origin(0, self.name, identity, is_unit=False, source=self.node),),
            parts=(QueryPart(self._select(bound)),),
            reader=self._reader(),
            records=None,
            keeps_order=False,
            with_bound=self._reading,
            is_empty=self._is_empty,
        )

    def _select(self, bound: Bound | None) -> str:
        columns = sql.SQL(", ").join(map(self._selected, self.columns))
        where = (self._past(bound) if bound is not None else None) or sql.SQL("1 = 1")
        return self._text(sql.SQL("SELECT {}{} FROM {} q WHERE {}").format(self._first, columns, self.rows, where))

    def _past(self, bound: Bound) -> sql.Composable | None:
        column = next((column for column in self.columns if column.field.name == bound.column), None)
        return self._compared(column, bound) if column is not None else None

    def _limited(self, rows: sql.Composable) -> sql.Composable:
        """Return the rows that a preview or a sample reads."""
        limit = self.context.limit
        if limit is None:
            return rows
        first = self._first_of(rows, limit.random_of or limit.rows)
        return first if limit.random_of is None else self._first_of(first, limit.rows, self._random_order)

    def _first_of(self, rows: sql.Composable, count: int, order: str = "") -> sql.Composable:
        return sql.SQL(self._limit).format(rows=rows, order=sql.SQL(order), n=count)
