"""`mysql`: the rows of a table, view or query of MySQL or MariaDB. One statement reads all of them, at one moment."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass

from psycopg import sql

from executors.errors import Terminal, of_node
from executors.formats.columns import require_columns
from executors.mysql.client import Session, connect, database_of, interrupt
from executors.mysql.columns import Column, column_of
from executors.mysql.read import MysqlReader
from executors.mysql.statements import Name, text_of
from executors.reading import Bound
from executors.secrets import encrypt
from executors.sources.base import SourceContext
from executors.sources.one_statement import OneStatementSource
from executors.sources.statement_chunks import Compared, CursorDialect, FetchedRow
from ir.connectors import config_of
from ir.connectors.mysql import MysqlConfig
from ir.mysql_queries import read_query
from ir.nodes import Source
from ir.queries import QueryRefused


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


_OF_NUMBERS = Compared("{}", "1 = 1")
_OF_TIMES = Compared("TIMESTAMP'{}'", "{} >= TIMESTAMP'0001-01-01 00:00:00'", has_zones=False)
_CURSORS = CursorDialect(
    column=lambda name: Name("q", name),
    text="CAST({} AS CHAR)",
    compared={
        **dict.fromkeys(("integer", "bigint", "decimal"), _OF_NUMBERS),
        **dict.fromkeys(("timestamp", "timestamptz"), _OF_TIMES),
        "date": Compared("DATE'{}'", "{} >= DATE'0001-01-01'"),
    },
    hashed="CRC32({})",
)
"""The zero date is below all others. The time zone of sessions is UTC."""


class MysqlSource(OneStatementSource[Column]):
    """One source node. No session of MySQL can read the snapshot of another one, so the rows are read by one statement
    in one task, and each target reads at a moment of its own. Each row begins with a short value, because the driver
    takes a row that begins with a value of 16 MiB or more for the end of the result."""

    _first = sql.SQL("0, ")
    _random_order = "ORDER BY rand()"

    def __init__(self, source: Source, context: SourceContext) -> None:
        super().__init__(source, context)
        if context.store is None:
            raise TypeError(f"{source.connector} reads through a connection")
        self._source, self._connection = source, database_of(context.store)
        self._config = config_of(source, MysqlConfig)
        self._seconds = max(1, int(context.query_seconds))
        self._tag = f"flow run {context.claimant.run_id} reads {self.node}"

    @property
    def name(self) -> str:
        return self._config.location if self._config.table else "query"

    @property
    def is_shared(self) -> bool:
        return False

    def open(self, stack: ExitStack) -> None:
        with self._session() as session:
            self.rows = self._limited(self._rows())
            found = session.columns(self._text(sql.SQL("SELECT * FROM {} AS q LIMIT 0").format(self.rows)))
            self.columns = tuple(column_of(column, self.name) for column in found)
            names = [column.field.name for column in self.columns]
            require_columns(self.name, names, self._source.columns or ())

    def interrupt(self) -> None:
        interrupt(self._connection, self._tag)

    @contextmanager
    def _session(self) -> Iterator[Session]:
        with of_node(self.node), connect(self._connection, seconds=self._seconds) as session:
            yield session

    def _reader(self) -> MysqlReader:
        return MysqlReader(encrypt(self._connection), tuple(self.columns), self._seconds, self.node)

    def _text(self, statement: sql.Composable) -> str:
        return text_of(statement, self._tag)

    def _selected(self, column: Column) -> sql.Composable:
        return column.selected

    def _compared(self, column: Column, bound: Bound) -> sql.Composable | None:
        known = _COMPARED.get(bound.type.declared)
        if known is None or known.kind != column.field.type.kind or not known.values.fullmatch(bound.value):
            return None
        name, value = Name("q", column.field.name), sql.SQL(known.literal.format(bound.value))
        return sql.SQL("({} >= {} OR {})").format(name, value, sql.SQL(known.unknown).format(name))

    @property
    def _cursors(self) -> CursorDialect:
        return _CURSORS

    def _fetch(self, statement: sql.Composable, columns: int) -> Sequence[FetchedRow]:
        with self._session() as session:
            found = session.rows(self._text(statement))
        return [[None if value is None else value.decode() for value in row] for row in found]

    def _is_empty(self) -> bool:
        with self._session() as session:
            statement = sql.SQL("SELECT EXISTS (SELECT 1 FROM {} AS q)").format(self.rows)
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
