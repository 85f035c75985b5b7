"""`postgres`: the rows of a table, view or query in one snapshot, which all parts and all targets of a run share."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, suppress
from datetime import datetime
from functools import cached_property

import psycopg
from psycopg import sql

from executors.backfill.extents import ChunkCounting, Cursor, Extent, PartitionExtent, RowGroup
from executors.errors import Failure, Terminal
from executors.formats.columns import require_columns
from executors.model import DestinationColumn, SourceField, SourceState
from executors.postgres.client import charset_of, translate
from executors.postgres.queries import refuse_flow_tables, require_allowed
from executors.postgres.read import (
    ReadSession,
    SnapshotReader,
    TablePart,
    as_source,
    beyond_arrow,
    copied_column,
    field_of,
)
from executors.postgres.roles import refuse_server_rights
from executors.reading import Bound, Origin, Reading
from executors.secrets import encrypt
from executors.sources.base import SnapshotSource, SourceContext
from executors.sources.postgres_blocks import BlockRange, divide, find_heap
from executors.sources.postgres_chunks import PostgresHistory
from executors.sources.postgres_columns import columns_of_query, columns_of_table
from ir.allowances import why_not_read
from ir.connectors import config_of
from ir.connectors.postgres import PostgresConfig, SourceTable
from ir.nodes import Source
from ir.queries import QueryRefused, read_query
from ir.types import ColumnType

_STORED = ("table", "partition", "partitioned table", "materialized view")


class PostgresSource(SnapshotSource):
    """One source node. Its session holds the snapshot until the last reading is released, at the latest until the stack
    is closed. Until then it also holds the locks of a reader, which prevent a load of the same table from replacing
    it."""

    snapshot = ""
    imports = ""
    """The name of a snapshot to read; a new one if it is empty."""

    def __init__(self, source: Source, context: SourceContext) -> None:
        super().__init__(source, context)
        if context.connection is None:
            raise TypeError(f"{source.connector} reads through a connection")
        self._source, self._connection = source, context.connection
        self._config = config_of(source, PostgresConfig)
        seconds = context.query_seconds
        self._session = ReadSession(context.claimant.run_id, max(1, int(seconds)))
        self._kind = "query"

    def open(self, stack: ExitStack) -> None:
        self._held = stack.enter_context(ExitStack())
        with as_source(self.node):
            self._conn = self._held.enter_context(self._session.open(self._connection, self.imports))
            with translate():
                if self._config.query is not None:
                    self._require_allowed(self._config.query)
                elif self.context.read_only:
                    refuse_server_rights(self._conn, self._connection, "A preview")
                self._columns = self._inspect()
                self._rows = self._from()
                self._history = PostgresHistory(self._conn, self.name, self._rows, self._columns)
                self._of_chunk = [self._history.of_chunk(self.context.chunk)] if self.context.chunk else []
                self._require_readable()
                self.snapshot = self._export()

    def interrupt(self) -> None:
        self._session.interrupt(self._connection)

    @property
    def name(self) -> str:
        table = self._config.table
        return f"{table.schema_}.{table.name}" if table else "query"

    @property
    def is_shared(self) -> bool:
        """Some poolers prevent other sessions from reading the same snapshot."""
        return bool(self.snapshot)

    def reading(self, *, is_last: bool = False, state: SourceState | None = None) -> Reading:
        return self._reading(None, is_last)

    def _reading(self, bound: Bound | None, is_last: bool) -> Reading:
        """Return all rows, or those from a bound on."""
        with as_source(self.node), translate():
            fields, parts, size = self._fields, tuple(self._parts(bound)), self._size()
            chunk = self.context.chunk if self.context.chunk is not None and self.context.chunk.sums else None
            if self.context.rate is not None:
                self.context.rate.take(len(parts) + bool(chunk))
            cursor_sum = self._history.sum_of(chunk) if chunk is not None else ""
        identity = f"{self.context.claimant.run_id}\n{self.node}\n{self.snapshot or self._conn.info.backend_pid}"
        return Reading(
            fields=fields,
            origins=(
                Origin(0, self._shown, hashlib.sha256(identity.encode()).hexdigest(), is_unit=False, source=self.node),
            ),
            parts=parts,
            reader=SnapshotReader(encrypt(self._connection), self._session, self.snapshot, self.node),
            records=None,
            keeps_order=False,
            with_bound=lambda bound: self._reading(bound, is_last),
            release=self._held.close if is_last else lambda: None,
            size=size,
            is_empty=self._is_empty,
            cursor_sum=cursor_sum,
        )

    @property
    def _shown(self) -> str:
        """The name of what is read. That of a chunk names no other rows, so that no load closes the rejected rows of
        another chunk."""
        return f"{self.name}: {self.context.chunk.chunk.predicate}" if self.context.chunk else self.name

    def _size(self) -> int | None:
        """Return the bytes of a table with its long values; None for views, queries, chunks, and tables that are not in
        a heap."""
        table = self._config.table if self.context.chunk is None else None
        heap = find_heap(self._conn, table) if table is not None else None
        return heap.bytes if heap is not None else None

    def _is_empty(self) -> bool:
        with as_source(self.node), translate():
            statement = sql.SQL("SELECT EXISTS (SELECT FROM {} AS q WHERE {})").format(self._rows, self._where())
            found = self._conn.execute(statement).fetchone()
        return found is None or not found[0]

    # --- inspection ------------------------------------------------------------------------------------------

    def _require_allowed(self, text: str) -> None:
        """Check the query as at save, and what only the database knows."""
        try:
            query = read_query(text)
        except QueryRefused as refused:
            raise Terminal(refused.code, refused.message, hint="Save the pipeline again with another query.") from None
        require_allowed(self._conn, query, self._connection, "The query")

    def _inspect(self) -> tuple[DestinationColumn, ...]:
        table, declared = self._config.table, [column.name for column in self._source.columns or ()]
        if table is None:
            columns = columns_of_query(self._conn, str(self._config.query), declared)
        else:
            self._require_readable_name(table)
            self._kind, columns = columns_of_table(self._conn, table)
        if not columns:
            raise Terminal("source.no_columns", f"{self.name} has no columns.", hint="Read another table.")
        require_columns(self.name, [column.name for column in columns], self._source.columns or ())
        return columns

    def _require_readable_name(self, table: SourceTable) -> None:
        if why := why_not_read(table.schema_, table.name):
            raise Terminal("query.not_allowed", why, hint="Read another table.")
        refuse_flow_tables(self._conn, [(table.schema_, table.name)], self.name)

    def _from(self) -> sql.Composable:
        limit, every = self.context.limit, self._every_row()
        if limit is None:
            return every
        first = sql.SQL("(SELECT * FROM {} AS q LIMIT {})").format(every, sql.Literal(limit.random_of or limit.rows))
        if limit.random_of is None:
            return first
        return sql.SQL("(SELECT * FROM {} AS q ORDER BY random() LIMIT {})").format(first, sql.Literal(limit.rows))

    def _every_row(self) -> sql.Composable:
        table = self._config.table
        if table is not None:
            return sql.Identifier(table.schema_, table.name)
        # The line break ends a comment at the end of the query.
        return sql.SQL("({}\n)").format(sql.SQL(read_query(str(self._config.query)).text))

    def _require_readable(self) -> None:
        """Fail for relations that the role must not read, before any target is changed."""
        self._conn.execute(self._select(sql.SQL("false")))

    @cached_property
    def _fields(self) -> tuple[SourceField, ...]:
        """Read columns of a table with values that Arrow cannot represent (infinity, years before 1) as PostgreSQL's
        own types.

        Views and queries may be expensive, so they are not searched: each such value is reported when it is read.
        """
        fields = tuple(field_of(column) for column in self._columns)
        tests = {column.name: test for column in self._columns if (test := beyond_arrow(column))}
        if not tests or self._kind not in _STORED:
            return fields
        found = self._conn.execute(
            sql.SQL("SELECT {} FROM {} AS q WHERE {}").format(
                sql.SQL(", ").join(sql.SQL("bool_or({})").format(test) for test in tests.values()),
                self._rows,
                self._where(),
            )
        ).fetchone()
        beyond = {name for name, is_beyond in zip(tests, found or (), strict=True) if is_beyond}
        declared = {column.name: column.declared for column in self._columns}
        return tuple(
            SourceField(field.name, ColumnType("pg", pg_name=declared[field.name])) if field.name in beyond else field
            for field in fields
        )

    def _export(self) -> str:
        """Return the name of the snapshot for other sessions; empty if they cannot use it."""
        with suppress(psycopg.Error, Failure):
            row = self._conn.execute("SELECT pg_export_snapshot()").fetchone()
            name = str(row[0]) if row else ""
            with self._session.open(self._connection, name):
                return name
        return ""

    # --- backfills -------------------------------------------------------------------------------------------

    @property
    def can_count(self) -> bool:
        return True

    def find_extent(self, column: str, latest: datetime) -> Extent:
        with as_source(self.node), translate():
            return self._history.extent(column, latest)

    def cursor_of(self, column: str) -> Cursor:
        with as_source(self.node):
            return self._history.cursor(column)

    def find_partitions(
        self, cursor: Cursor, names: Sequence[str], start: str | None, cut: str, most: int
    ) -> Sequence[PartitionExtent]:
        with as_source(self.node), translate():
            return self._history.partitions(cursor, names, start, cut, most)

    def count_rows(self, counting: ChunkCounting) -> Sequence[RowGroup]:
        with as_source(self.node), translate():
            return self._history.groups(counting)

    # --- parts to read ---------------------------------------------------------------------------------------

    def _parts(self, bound: Bound | None) -> Iterator[TablePart]:
        """Yield ranges of blocks of a table if its snapshot is shared; else everything as one part."""
        past = self._past(bound)
        # Otherwise the server refuses to send invalid UTF-8.
        encoding = sql.SQL(", ENCODING 'SQL_ASCII'" if charset_of(self._conn).encoding == "SQL_ASCII" else "")
        for blocks in self._ranges():
            statement = sql.SQL("COPY ({}) TO STDOUT (FORMAT csv{})").format(
                self._select(*blocks.conditions, *([past] if past else [])), encoding
            )
            yield TablePart(blocks.start, blocks.end, blocks.first_row, statement.as_string(self._conn))

    def _ranges(self) -> Iterator[BlockRange]:
        """A chunk is one part: an index finds its rows."""
        table = self._config.table if self.context.chunk is None else None
        if table is None or self.context.limit or not self.is_shared:
            return divide(None)
        return divide(find_heap(self._conn, table))

    def _select(self, *conditions: sql.Composable) -> sql.Composed:
        columns = sql.SQL(", ").join(copied_column(column) for column in self._columns)
        return sql.SQL("SELECT {} FROM {} AS q WHERE {}").format(columns, self._rows, self._where(*conditions))

    def _where(self, *conditions: sql.Composable) -> sql.Composable:
        every = (*self._of_chunk, *conditions)
        return sql.SQL(" AND ").join(every) if every else sql.SQL("true")

    def _past(self, bound: Bound | None) -> sql.Composable | None:
        """Return the condition for a bound, only if the column has the type of the target, so that both compare and
        round in the same way."""
        column = next((c for c in self._columns if bound is not None and c.name == bound.column), None)
        if bound is None or column is None or column.declared != bound.type.declared:
            return None
        value = sql.Identifier("q", column.name)
        return sql.SQL("({} >= {} OR {} IS NULL)").format(bound.type.of(value), bound.type.literal(bound.value), value)
