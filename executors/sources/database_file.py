"""`sqlite` and `duckdb`: the rows of a table, view or query of a database file in the workspace's folder."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass

from psycopg import sql

from executors.database_files import engine_of
from executors.database_files.base import Column, FileSession, Stamp
from executors.database_files.read import DatabaseFileReader, QueryPart
from executors.errors import Terminal, of_node
from executors.formats.columns import require_columns
from executors.model import SourceField, SourceState
from executors.reading import Bound, Origin, Reading
from executors.sources.base import SnapshotSource, SourceContext
from executors.sources.local_fs import inside
from ir.connectors import config_of
from ir.connectors.database_file import DatabaseFileConfig
from ir.file_queries import read_query
from ir.nodes import Source
from ir.queries import QueryRefused
from ir.types import ColumnType

_LONGEST_SECONDS = 2_000_000.0
_ONE = Column(SourceField("one", ColumnType("integer"), as_text=True))


@dataclass(frozen=True, slots=True)
class _Opened:
    columns: tuple[Column, ...]
    rows: sql.Composable
    stamp: Stamp | None


class DatabaseFile(SnapshotSource):
    """One source node. One statement in one task reads all rows of a target.

    If the kind of database can exclude writers, the file stays open until all targets have read it, and every task
    checks that it reads that file. Otherwise each target reads at a moment of its own.
    """

    def __init__(self, source: Source, context: SourceContext) -> None:
        super().__init__(source, context)
        self._source, self._config = source, config_of(source, DatabaseFileConfig)
        self._engine = engine_of(self._config.grammar)
        self._seconds = min(context.most_seconds or _LONGEST_SECONDS, _LONGEST_SECONDS)
        root = context.folder.resolve()
        self._path = inside(root, root / self._config.path, self.node)
        self._session: FileSession | None = None

    @property
    def name(self) -> str:
        return self._config.location if self._config.table else f"{self._config.path}: query"

    @property
    def is_shared(self) -> bool:
        return self._engine.is_shared

    def open(self, stack: ExitStack) -> None:
        if not self._path.is_file():
            raise Terminal(
                "source.path_missing",
                f"The file {self._config.path!r} does not exist in the workspace's folder.",
                hint="Put it there, or correct the source's path.",
                node=self.node,
            )
        opened = stack if self._engine.is_shared else ExitStack()
        with of_node(self.node):
            session = opened.enter_context(self._connected())
            stamp = Stamp.of(self._path, self._engine.log_suffix) if self._engine.is_shared else None
            rows = self._limited(self._rows())
            columns = session.columns(rows)
            require_columns(self.name, [column.field.name for column in columns], self._source.columns or ())
        self._opened = _Opened(columns, rows, stamp)
        if opened is not stack:
            opened.close()

    def reading(self, *, is_last: bool = False, state: SourceState | None = None) -> Reading:
        return self._reading(None)

    def interrupt(self) -> None:
        if (session := self._session) is not None:
            session.interrupt()

    @contextmanager
    def _connected(self) -> Iterator[FileSession]:
        with of_node(self.node), self._engine.connect(self._path, self._seconds) as session:
            self._session = session
            try:
                yield session
            finally:
                self._session = None

    def _reading(self, bound: Bound | None) -> Reading:
        identity = hashlib.sha256(f"{self.context.claimant.run_id}\n{self.node}\n{self.name}".encode()).hexdigest()
        opened = self._opened
        return Reading(
            fields=tuple(column.field for column in opened.columns),
            origins=(Origin(0, self.name, identity, is_unit=False, source=self.node),),
            parts=(QueryPart(self._select(bound)),),
            reader=DatabaseFileReader(
                self._config.grammar, str(self._path), opened.stamp, opened.columns, self._seconds, self.node
            ),
            records=None,
            keeps_order=False,
            with_bound=self._reading,
            is_empty=self._is_empty,
        )

    def _select(self, bound: Bound | None) -> str:
        columns = sql.SQL(", ").join(column.selected for column in self._opened.columns)
        where = (self._past(bound) if bound is not None else None) or sql.SQL("1 = 1")
        return sql.SQL("SELECT {} FROM {} AS q WHERE {}").format(columns, self._opened.rows, where).as_string()

    def _past(self, bound: Bound) -> sql.Composable | None:
        column = next((c for c in self._opened.columns if c.field.name == bound.column), None)
        return self._engine.past(column, bound) if column is not None else None

    def _is_empty(self) -> bool:
        first = sql.SQL("SELECT 1 AS one FROM {} AS q LIMIT 1").format(self._opened.rows).as_string()
        with self._connected() as session:
            return not any(rows.size for rows in session.rows(first, [_ONE]))

    def _rows(self) -> sql.Composable:
        if self._config.table is not None:
            return sql.Identifier(*self._config.table.path)
        try:
            return sql.SQL("({}\n)").format(sql.SQL(read_query(str(self._config.query), self._config.grammar)))
        except QueryRefused as refused:
            raise Terminal(refused.code, refused.message, hint="Save the pipeline again with another query.") from None

    def _limited(self, rows: sql.Composable) -> sql.Composable:
        limit = self.context.limit
        if limit is None:
            return rows
        first = sql.SQL("(SELECT * FROM {} AS q LIMIT {})").format(rows, limit.random_of or limit.rows)
        if limit.random_of is None:
            return first
        return sql.SQL("(SELECT * FROM {} AS q ORDER BY random() LIMIT {})").format(first, limit.rows)
