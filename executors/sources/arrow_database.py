"""`sqlserver`, `oracle`, `snowflake` and `bigquery`: the rows of a table, view or query, by an Arrow driver."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager

from psycopg import sql

from executors.arrow_databases import DIALECTS, load_dialect
from executors.arrow_databases.base import Column, ResultColumn, watermark_literal
from executors.arrow_databases.client import OpenSession, connect
from executors.arrow_databases.read import ArrowDatabaseReader
from executors.arrow_databases.statements import QuotedName
from executors.errors import Terminal, of_node
from executors.formats.columns import require_columns
from executors.reading import Bound, PartReader
from executors.report import RunWarning
from executors.secrets import encrypt_store
from executors.sources.base import SourceContext
from executors.sources.one_statement import OneStatementSource
from ir.arrow_queries import read_query
from ir.connectors import config_of
from ir.connectors.arrow_database import ArrowDatabaseConfig
from ir.nodes import Source
from ir.queries import QueryRefused


class ArrowDatabase(OneStatementSource[Column]):
    """One source node. Several targets read the same rows only if the system can read a table at a given moment;
    otherwise each target would read at a moment of its own."""

    def __init__(self, source: Source, context: SourceContext) -> None:
        super().__init__(source, context)
        if context.store is None:
            raise TypeError(f"{source.connector} reads through a connection")
        self._source, self._connection = source, context.store
        self._config = config_of(source, ArrowDatabaseConfig)
        self._module = DIALECTS[context.store.kind]
        self._dialect = load_dialect(self._module)
        self._limit, self._random_order = self._dialect.limited, self._dialect.random_order
        self._seconds = context.query_seconds
        self._open: OpenSession | None = None
        self._is_pinned = False
        self._warnings: tuple[RunWarning, ...] = ()

    @property
    def name(self) -> str:
        return self._config.location if self._config.table else "query"

    @property
    def is_shared(self) -> bool:
        return self._is_pinned

    @property
    def warnings(self) -> tuple[RunWarning, ...]:
        return self._warnings

    def open(self, stack: ExitStack) -> None:
        rows = self._limited(self._named())
        with self._session() as session:
            found = self._pinned(session, rows)
            if found is None:
                self.rows, found = rows, session.describe(self._text(_none_of(rows)))
            self.columns = tuple(map(self._column, found))
            if self._dialect.warning and session.values(self._dialect.warning):
                self._warnings = (self._not_one_moment(),)
        require_columns(self.name, [column.field.name for column in self.columns], self._source.columns or ())

    def interrupt(self) -> None:
        if (session := self._open) is not None:
            session.interrupt()

    @contextmanager
    def _session(self) -> Iterator[OpenSession]:
        with of_node(self.node), connect(self._dialect, self._connection, self._seconds) as session:
            self._open = session
            try:
                yield session
            finally:
                self._open = None

    def _pinned(self, session: OpenSession, rows: sql.Composable) -> list[ResultColumn] | None:
        """Read the table at one moment, and return its columns. Return None if the system or the user cannot do that:
        then the source has one target at most."""
        if not self._dialect.moment or self._config.table is None or self.context.limit is not None:
            return None
        try:
            (moment,) = session.values(self._dialect.moment)
            self.rows = sql.SQL(self._dialect.at_moment).format(rows=rows, moment=sql.SQL(str(int(moment))))
            found = session.describe(self._text(_none_of(self.rows)))
        except Terminal as failure:
            self.context.log(f"Not read as of one moment: {failure.message}")
            return None
        self._is_pinned = True
        return found

    def _column(self, found: ResultColumn) -> Column:
        make = self._dialect.types.get(found.type)
        if make is None:
            raise Terminal(
                "source.type_unsupported",
                f"Column {found.name!r} of {self.name} has the type {found.type}, which cannot be read.",
                hint="Read it as text by a query, such as CAST(… AS VARCHAR(4000)).",
                node=self.node,
            )
        return make(found)

    def _not_one_moment(self) -> RunWarning:
        return RunWarning(
            "source.not_one_moment",
            self.node,
            f"The database does not let {self._dialect.title} read snapshots, so rows of {self.name} that were changed "
            "during the read can be read twice or not at all.",
        )

    def _named(self) -> sql.Composable:
        if self._config.table is not None:
            return QuotedName(self._dialect.quote, *self._config.table.path)
        try:
            return sql.SQL("({}\n)").format(sql.SQL(read_query(str(self._config.query), self._config.grammar)))
        except QueryRefused as refused:
            raise Terminal(refused.code, refused.message, hint="Save the pipeline again with another query.") from None

    def _selected(self, column: Column) -> sql.Composable:
        name = QuotedName(self._dialect.quote, column.field.name)
        value = sql.SQL("q.{}").format(name)
        return sql.SQL("{} {}").format(sql.SQL(column.expression).format(value), name)

    def _compared(self, column: Column, bound: Bound) -> sql.Composable | None:
        literal = watermark_literal(self._dialect, column, bound.type.declared, bound.value)
        if literal is None:
            return None
        name = QuotedName(self._dialect.quote, column.field.name)
        return sql.SQL("(q.{0} >= {1} OR q.{0} IS NULL)").format(name, sql.SQL(literal))

    def _reader(self) -> PartReader:
        return ArrowDatabaseReader(
            self._module, encrypt_store(self._connection), tuple(self.columns), self._seconds, self.node
        )

    def _is_empty(self) -> bool:
        first = sql.SQL("SELECT 1 x FROM {} q").format(self._first_of(self.rows, 1))
        with self._session() as session:
            return not session.has_rows(self._text(first))


def _none_of(rows: sql.Composable) -> sql.Composable:
    """Return the statement that selects no row, but all columns."""
    return sql.SQL("SELECT * FROM {} q WHERE 1 = 0").format(rows)
