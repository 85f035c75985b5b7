"""`sqlite` and `duckdb`: the rows of a table, view or query of a database file in the workspace's folder."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager

from psycopg import sql

from executors.database_files.base import Column
from executors.database_files.read import DatabaseFileReader
from executors.database_files.session import EngineCall, EngineSession, open_file
from executors.database_files.stamp import Stamp
from executors.database_files.systems import FILE_DATABASES
from executors.errors import Terminal, of_node
from executors.formats.columns import require_columns
from executors.model import SourceField
from executors.reading import Bound
from executors.sources.base import SourceContext
from executors.sources.local_fs import inside
from executors.sources.one_statement import OneStatementSource
from executors.sources.statement_chunks import CursorDialect, FetchedRow
from ir.connectors import config_of
from ir.connectors.database_file import DatabaseFileConfig
from ir.file_queries import read_query
from ir.nodes import Source
from ir.queries import QueryRefused
from ir.types import STRING, ColumnType

_ONE = Column(SourceField("one", ColumnType("integer"), as_text=True))


class DatabaseFile(OneStatementSource[Column]):
    """One source node. One statement in one task reads all rows of a target.

    If the kind of database can exclude writers, the file stays open until all targets have read it, and every task
    checks that it reads that file. Otherwise each target reads at a moment of its own.
    """

    def __init__(self, source: Source, context: SourceContext) -> None:
        super().__init__(source, context)
        self._source, self._config = source, config_of(source, DatabaseFileConfig)
        self._database = FILE_DATABASES[self._config.grammar]
        self._seconds = context.query_seconds
        root = context.folder.resolve()
        self._path = inside(root, root / self._config.path, self.node)
        self._session: EngineSession | None = None
        self._is_interrupted = False
        self._stamp: Stamp | None = None

    @property
    def name(self) -> str:
        return self._config.location if self._config.table else f"{self._config.path}: query"

    @property
    def is_shared(self) -> bool:
        return self._database.is_shared

    def open(self, stack: ExitStack) -> None:
        if not self._path.is_file():
            raise Terminal(
                "source.path_missing",
                f"The file {self._config.path!r} does not exist in the workspace's folder.",
                hint="Put it there, or correct the source's path.",
                node=self.node,
            )
        opened = stack if self._database.is_shared else ExitStack()
        with of_node(self.node):
            session = opened.enter_context(self._connected())
            if self._database.is_shared:
                self._stamp = Stamp.of(self._path, self._database.log_suffix)
            self.rows = self._limited(self._rows())
            self.columns = session.columns(self._database.columns_of(self.rows))
            require_columns(self.name, [column.field.name for column in self.columns], self._source.columns or ())
        if opened is not stack:
            opened.close()

    def interrupt(self) -> None:
        self._is_interrupted = True
        if (session := self._session) is not None:
            session.interrupt()

    @contextmanager
    def _connected(self) -> Iterator[EngineSession]:
        call = EngineCall(self._config.grammar, self._path, self._seconds)
        with of_node(self.node), open_file(call) as session:
            self._session = session
            if self._is_interrupted:
                session.interrupt()
            try:
                yield session
            finally:
                self._session = None

    def _reader(self) -> DatabaseFileReader:
        grammar, columns = self._config.grammar, tuple(self.columns)
        return DatabaseFileReader(grammar, str(self._path), self._stamp, columns, self._seconds, self.node)

    def _selected(self, column: Column) -> sql.Composable:
        return column.selected

    def _compared(self, column: Column, bound: Bound) -> sql.Composable | None:
        return self._database.past(column, bound)

    @property
    def _cursors(self) -> CursorDialect:
        return self._database.cursors

    def _fetch(self, statement: sql.Composable, columns: int) -> Sequence[FetchedRow]:
        texts = [Column(SourceField(f"c{number}", STRING, as_text=True)) for number in range(columns)]
        with self._connected() as session:
            found = [rows.arrays for rows in session.rows(statement.as_string(), texts)]
        return [row for arrays in found for row in zip(*(array.to_pylist() for array in arrays), strict=True)]

    def _is_empty(self) -> bool:
        first = sql.SQL("SELECT 1 AS one FROM {} AS q LIMIT 1").format(self.rows).as_string()
        with self._connected() as session:
            return not any(rows.size for rows in session.rows(first, [_ONE]))

    def _rows(self) -> sql.Composable:
        if self._config.table is not None:
            return sql.Identifier(*self._config.table.path)
        try:
            return sql.SQL("({}\n)").format(sql.SQL(read_query(str(self._config.query), self._config.grammar)))
        except QueryRefused as refused:
            raise Terminal(refused.code, refused.message, hint="Save the pipeline again with another query.") from None
