"""`mysql`: the rows of a table, view or query of MySQL or MariaDB. One statement reads all of them, at one moment."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass

from psycopg import sql

from executors.errors import Terminal, of_node
from executors.formats.columns import require_columns
from executors.model import SourceState
from executors.mysql.client import Session, connect, database_of, interrupt
from executors.mysql.columns import Column, column_of
from executors.mysql.read import MysqlReader, QueryPart
from executors.mysql.statements import Name, text_of
from executors.reading import Bound, Origin, Reading
from executors.secrets import encrypt
from executors.sources.base import SnapshotSource, SourceContext
from ir.connectors import config_of
from ir.connectors.mysql import MysqlConfig
from ir.mysql_queries import read_query
from ir.nodes import Source
from ir.queries import QueryRefused

_LONGEST_SECONDS = 2_000_000


@dataclass(frozen=True, slots=True)
class _Compared:
    """The type of a column that can be compared with a watermark, the texts of watermarks that MySQL has, and how it
    writes them. `unknown` is the condition for values that have no place in the order, which are read like those above
    the watermark, so that they are reported."""

    kind: str
    values: re.Pattern[str]
    literal: str
    unknown: str = "{0} IS NULL"


_NO_DAY = "{0} IS NULL OR {0} < DATE'0001-01-01'"
"""NULL and the zero date. Dates such as 2024-00-10 are not found: an index could not be used."""
_WHOLE, _DAY = re.compile(r"-?[0-9]{1,19}"), r"[1-9][0-9]{3}-[0-9]{2}-[0-9]{2}"
_COMPARED = {
    "integer": _Compared("integer", _WHOLE, "{}"),
    "bigint": _Compared("bigint", _WHOLE, "{}"),
    "date": _Compared("date", re.compile(_DAY), "DATE'{}'", _NO_DAY),
    "timestamp without time zone": _Compared(
        "timestamp", re.compile(_DAY + r" [0-9]{2}:[0-9]{2}:[0-9]{2}(\.[0-9]{1,6})?"), "TIMESTAMP'{}'", _NO_DAY
    ),
}
"""By the type of a watermark in PostgreSQL: those whose values MySQL compares in the same way."""


@dataclass(frozen=True, slots=True)
class _Opened:
    columns: tuple[Column, ...]
    rows: sql.Composable


class MysqlSource(SnapshotSource):
    """One source node. No session of MySQL can read the snapshot of another one, so the rows are read by one statement
    in one task, and each target reads at a moment of its own."""

    def __init__(self, source: Source, context: SourceContext) -> None:
        super().__init__(source, context)
        if context.store is None:
            raise TypeError(f"{source.connector} reads through a connection")
        self._source, self._connection = source, database_of(context.store)
        self._config = config_of(source, MysqlConfig)
        self._seconds = max(1, int(min(context.most_seconds or _LONGEST_SECONDS, _LONGEST_SECONDS)))
        self._tag = f"flow run {context.claimant.run_id} reads {self.node}"

    @property
    def name(self) -> str:
        return self._config.location if self._config.table else "query"

    @property
    def is_shared(self) -> bool:
        return False

    def open(self, stack: ExitStack) -> None:
        with self._session() as session:
            rows = self._limited(self._rows())
            found = session.columns(self._text(sql.SQL("SELECT * FROM {} AS q LIMIT 0").format(rows)))
            columns = tuple(column_of(column, self.name) for column in found)
            names = [column.field.name for column in columns]
            require_columns(self.name, names, self._source.columns or ())
        self._opened = _Opened(columns, rows)

    def reading(self, *, is_last: bool = False, state: SourceState | None = None) -> Reading:
        return self._reading(None)

    def interrupt(self) -> None:
        interrupt(self._connection, self._tag)

    @contextmanager
    def _session(self) -> Iterator[Session]:
        with of_node(self.node), connect(self._connection, seconds=self._seconds) as session:
            yield session

    def _reading(self, bound: Bound | None) -> Reading:
        identity = hashlib.sha256(f"{self.context.claimant.run_id}\n{self.node}\n{self.name}".encode()).hexdigest()
        opened = self._opened
        return Reading(
            fields=tuple(column.field for column in opened.columns),
            origins=(Origin(0, self.name, identity, is_unit=False, source=self.node),),
            parts=(QueryPart(self._select(bound)),),
            reader=MysqlReader(encrypt(self._connection), opened.columns, self._seconds, self.node),
            records=None,
            keeps_order=False,
            with_bound=self._reading,
            is_empty=self._is_empty,
        )

    def _text(self, statement: sql.Composable) -> str:
        return text_of(statement, self._tag)

    def _select(self, bound: Bound | None) -> str:
        """Return the statement of the rows. Each begins with a short value, because the driver takes a row that begins
        with a value of 16 MiB or more for the end of the result."""
        columns = sql.SQL(", ").join(column.selected for column in self._opened.columns)
        where = (self._past(bound) if bound is not None else None) or sql.SQL("true")
        return self._text(sql.SQL("SELECT 0, {} FROM {} AS q WHERE {}").format(columns, self._opened.rows, where))

    def _past(self, bound: Bound) -> sql.Composable | None:
        """Return the condition for a bound, only if MySQL compares the values as the target does."""
        field = next((c.field for c in self._opened.columns if c.field.name == bound.column), None)
        known = _COMPARED.get(bound.type.declared)
        if field is None or known is None or known.kind != field.type.kind or not known.values.fullmatch(bound.value):
            return None
        column, value = Name("q", field.name), sql.SQL(known.literal.format(bound.value))
        unknown = sql.SQL(known.unknown).format(column)
        return sql.SQL("({} >= {} OR {})").format(column, value, unknown)

    def _is_empty(self) -> bool:
        with self._session() as session:
            statement = sql.SQL("SELECT EXISTS (SELECT 1 FROM {} AS q)").format(self._opened.rows)
            (row,) = session.rows(self._text(statement))
        return row[0] == b"0"

    def _rows(self) -> sql.Composable:
        table = self._config.table
        if table is not None:
            return Name(table.database or self._connection.database, table.name)
        try:
            return sql.SQL("({})").format(sql.SQL(read_query(str(self._config.query))))
        except QueryRefused as refused:
            raise Terminal(refused.code, refused.message, hint="Save the pipeline again with another query.") from None

    def _limited(self, rows: sql.Composable) -> sql.Composable:
        limit = self.context.limit
        if limit is None:
            return rows
        first = sql.SQL("(SELECT * FROM {} AS q LIMIT {})").format(rows, limit.random_of or limit.rows)
        if limit.random_of is None:
            return first
        return sql.SQL("(SELECT * FROM {} AS q ORDER BY rand() LIMIT {})").format(first, limit.rows)
