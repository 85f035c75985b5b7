"""The staged rows of a target in PostgreSQL, counted by SQL."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

from psycopg import sql

from executors.checks.base import RepeatedKeys, StagedRows, no_number, no_time
from executors.model import Connection, DestinationColumn
from executors.postgres.client import translate
from executors.postgres.ddl import Conn
from executors.postgres.names import identifier_of
from executors.postgres.staging import StagingTables, is_winner, one_number
from executors.table_name import TableName
from executors.types import wire_type
from ir.checks import Freshness
from ir.checks.base import Amount, Check

_FLOATS = ("real", "double precision")
_NUMBERS = ("smallint", "integer", "bigint", "numeric", *_FLOATS)
_MOMENTS = {
    "date": "{}::timestamp AT TIME ZONE 'UTC'",
    "timestamp without time zone": "{} AT TIME ZONE 'UTC'",
    "timestamp with time zone": "{}",
}
"""SQL that converts a value to a point in time, by the type of the table's column."""


@dataclass(frozen=True, slots=True)
class Staged(StagedRows):
    """The rows of the winning tasks. `open_session` opens a separate read-only session over `connection`."""

    conn: Conn
    tables: StagingTables
    winners: Sequence[int]
    connection: Connection
    open_session: Callable[[], AbstractContextManager[Conn]]

    @property
    def rows(self) -> sql.Composed:
        """Return a FROM item with the rows as `s`, and its condition."""
        return sql.SQL("{} AS s WHERE {}").format(self.tables.good_identifier, is_winner(self.winners, "s"))

    def typed(self, check: Check, name: str) -> sql.Composed:
        """Return a staged value, over `s`, in the type of the table's column."""
        staged, loaded = self.column(check, name)
        return as_type(sql.Identifier("s", name), loaded.base if wire_type(staged.type).as_text else "")

    def exact(self, check: Check, name: str) -> sql.Composed:
        """Return a staged value, over `s`, in a form that is equal only for identical values: texts byte by byte (a
        collation may consider different texts equal), and text for types that may lack equality."""
        return exactly(self.typed(check, name), self.column(check, name)[1])

    def one_row(self, query: sql.Composed) -> tuple[Any, ...]:
        return self.conn.execute(query).fetchone() or ()

    def count(self) -> int:
        return one_number(self.conn, sql.SQL("SELECT count(*) FROM {}").format(self.rows))

    def count_nulls(self, check: Check, column: str) -> tuple[int, int]:
        query = sql.SQL("SELECT count(*) - count(s.{column}), count(*) FROM {rows}").format(
            column=sql.Identifier(column), rows=self.rows
        )
        nulls, count = self.one_row(query)
        return nulls, count

    def count_distinct(self, check: Check, column: str) -> tuple[int, int]:
        query = sql.SQL("SELECT count(DISTINCT {value}), count({value}) FROM {rows}").format(
            value=self.exact(check, column), rows=self.rows
        )
        distinct, count = self.one_row(query)
        return distinct, count

    def require_number(self, check: Amount) -> None:
        _, column = self.column(check, check.column)
        if column.base not in _NUMBERS:
            raise no_number(check, column)

    def total(self, check: Amount) -> tuple[Decimal | float, int]:
        self.require_number(check)
        _, column = self.column(check, check.column)
        # The text of `real` has the digits that users see.
        kind = "double precision" if column.base in _FLOATS else "numeric"
        value = as_type(sql.Identifier("s", check.column), kind)
        query = sql.SQL("SELECT sum({value}), count({value}) FROM {rows}").format(value=value, rows=self.rows)
        found, count = self.one_row(query)
        return (Decimal(0) if found is None else found), count

    def require_key(self, check: Check, columns: Sequence[str]) -> None:
        """Check that the table can be read."""
        names = _comma(sql.Identifier(name) for name in columns)
        with translate(), self.conn.transaction():
            self.conn.execute(sql.SQL("SELECT {} FROM {} LIMIT 0").format(names, self._table))

    def count_repeated(self, check: Check, columns: Sequence[str]) -> RepeatedKeys:
        query = sql.SQL(
            "SELECT coalesce(sum(k.n) FILTER (WHERE k.n > 1 OR k.there), 0),"
            " coalesce(sum(k.n) FILTER (WHERE k.n > 1), 0),"
            " count(*) FILTER (WHERE k.n > 1), coalesce(sum(k.n) FILTER (WHERE k.there), 0)"
            " FROM (SELECT g.n, {there} AS there FROM (SELECT {keys}, count(*) AS n FROM {rows} AND {known}"
            " GROUP BY {places}) AS g) AS k"
        ).format(
            there=self._is_in_table(columns) if self.adds_rows else sql.SQL("false"),
            keys=_comma(_as(self.exact(check, name), index) for index, name in enumerate(columns)),
            rows=self.rows,
            known=sql.SQL(" AND ").join(sql.SQL("s.{} IS NOT NULL").format(sql.Identifier(name)) for name in columns),
            places=_comma(sql.Literal(index + 1) for index in range(len(columns))),
        )
        return RepeatedKeys(*map(int, self.one_row(query)))

    def require_time(self, check: Freshness) -> None:
        self._moment(check)

    def age(self, check: Freshness) -> tuple[Decimal | float | None, int]:
        query = sql.SQL(
            "SELECT EXTRACT(EPOCH FROM {now} - max(m.at) FILTER (WHERE m.at <= {now})),"
            " count(*) FILTER (WHERE m.at > {now})"
            " FROM (SELECT {at} AS at FROM {rows}) AS m WHERE isfinite(m.at)"
        ).format(now=sql.Literal(self.now), at=self._moment(check), rows=self.rows)
        seconds, future = self.one_row(query)
        return seconds, future

    def _moment(self, check: Freshness) -> sql.Composed:
        _, column = self.column(check, check.column)
        if column.base not in _MOMENTS:
            raise no_time(check, column)
        return sql.SQL("({})").format(sql.SQL(_MOMENTS[column.base]).format(self.typed(check, check.column)))

    def _is_in_table(self, columns: Sequence[str]) -> sql.Composed:
        same = [
            sql.SQL("{} = {}").format(exactly(sql.Identifier("t", name), column), sql.Identifier("g", _name(index)))
            for index, name in enumerate(columns)
            if (column := self.dest.column(name)) is not None
        ]
        return sql.SQL("EXISTS (SELECT FROM {} AS t WHERE {})").format(self._table, sql.SQL(" AND ").join(same))

    @property
    def _table(self) -> sql.Identifier:
        return identifier_of(TableName(self.dest.schema, self.dest.table))


def as_type(value: sql.Composable, base: str) -> sql.Composed:
    """Cast a value. `base` is a type name from PostgreSQL, "" for no cast."""
    return sql.SQL("{}::{}" if base else "{}").format(*([value, sql.SQL(base)] if base else [value]))


def exactly(value: sql.Composable, column: DestinationColumn) -> sql.Composed:
    """Return the form of `Staged.exact`, for staged values and for values of the table's column."""
    if column.type.kind in ("pg", "string") or column.base in ("json", "jsonb"):
        return sql.SQL('{}::text COLLATE "C"').format(as_type(value, "bpchar" if _is_padded(column) else ""))
    return sql.SQL("{}").format(value)


def _is_padded(column: DestinationColumn) -> bool:
    """Return whether the type is `char(n)`, whose trailing blanks are not part of the value."""
    return column.base == "bpchar"


def _name(index: int) -> str:
    return f"k{index}"


def _as(value: sql.Composed, index: int) -> sql.Composed:
    return sql.SQL("{} AS {}").format(value, sql.Identifier(_name(index)))


def _comma(parts: Iterable[sql.Composable]) -> sql.Composed:
    return sql.SQL(", ").join(parts)
