"""The history of a PostgreSQL table or query: the condition of a chunk, the extent of a cursor, and rows of chunks."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from psycopg import sql

from executors.backfill.extents import ChunkCounting, Cursor, Extent, PartitionExtent, RowGroup
from executors.errors import Terminal
from executors.model import ChunkJob, DestinationColumn
from executors.postgres.ddl import Conn

_NUMBERS = "({})::text NOT IN ('NaN', 'Infinity', '-Infinity')"
_HASHES_SINCE = 110000
_TIMES = "{0} >= '0001-01-01' AND {0} < '10000-01-01'"


@dataclass(frozen=True, slots=True)
class PostgresHistory:
    """The rows of a source, as `rows`, and its columns. All values are compared in the type of their column, so that no
    time zone and no rounding comes between them."""

    conn: Conn
    name: str
    rows: sql.Composable
    columns: Sequence[DestinationColumn]

    # --- the rows of one chunk -------------------------------------------------------------------------------

    def of_chunk(self, job: ChunkJob) -> sql.Composable:
        """Return the condition of a chunk on a row `q`. Raises Terminal if the type of the cursor has changed."""
        chunk, column = job.chunk, self._column(job.chunk.column)
        if column.declared != job.type:
            raise Terminal(
                "backfill.type_changed",
                f"{chunk.column!r} of {self.name} was {job.type} when the chunks were planned, and is "
                f"{column.declared} now.",
                hint="Start the backfill again.",
            )
        value, parts = _value(column), [self._equals(name, text) for name, text in chunk.partition.items()]
        if chunk.is_null:
            parts.append(sql.SQL("{} IS NULL").format(value))
        if chunk.lower is not None:
            parts.append(sql.SQL("{} >= {}").format(value, _literal(column, chunk.lower)))
        if chunk.upper is not None:
            parts.append(sql.SQL("{} < {}").format(value, _literal(column, chunk.upper)))
        return _all(parts)

    def sum_of(self, job: ChunkJob) -> str:
        """Return the sum of the hashes of the cursor of a chunk's rows."""
        total = self._sum(_value(self._column(job.chunk.column)))
        statement = sql.SQL("SELECT {} FROM {} AS q WHERE {}").format(total, self.rows, self.of_chunk(job))
        row = self.conn.execute(statement).fetchone()
        return str(row[0]) if row else ""

    def _sum(self, value: sql.Composable) -> sql.Composable:
        """Return the sum, 0 on servers without hashes of 64 bits."""
        has_hashes = self.conn.info.server_version >= _HASHES_SINCE
        return sql.SQL("coalesce(sum(hashtextextended(({})::text, 0)), 0)" if has_hashes else "0").format(value)

    def _equals(self, name: str, text: str | None) -> sql.Composable:
        column = self._column(name)
        if text is None:
            return sql.SQL("{} IS NULL").format(_value(column))
        return sql.SQL("{} = {}::{}").format(_value(column), sql.Literal(text), sql.SQL(column.declared))

    # --- the extent of all rows ------------------------------------------------------------------------------

    def cursor(self, name: str) -> Cursor:
        column = self._column(name)
        return Cursor(column.name, column.declared, column.type)

    def extent(self, name: str, latest: datetime) -> Extent:
        cursor, column = self.cursor(name), self._column(name)
        value, now = _value(column), cursor.axis.at(latest)
        reachable = [_finite(cursor, column)]
        if now is not None:
            reachable.append(sql.SQL("{} <= {}").format(value, _literal(column, now)))
        return Extent(
            cursor,
            highest=self._first(value, reachable, "DESC"),
            lowest=self._first(value, reachable, "ASC"),
            has_nulls=bool(self._one(sql.SQL("SELECT EXISTS (SELECT FROM {} AS q WHERE {} IS NULL)"), value)),
            estimated_rows=self._estimate(),
        )

    def _first(self, value: sql.Composable, conditions: Sequence[sql.Composable], order: str) -> str | None:
        """Return the first value in an order. An index answers this even with conditions, unlike max()."""
        statement = sql.SQL("SELECT ({0})::text FROM {1} AS q WHERE {2} ORDER BY {0} {3} LIMIT 1").format(
            value, self.rows, _all(conditions), sql.SQL(order)
        )
        row = self.conn.execute(statement).fetchone()
        return str(row[0]) if row else None

    def _one(self, statement: sql.SQL, value: sql.Composable) -> Any:
        row = self.conn.execute(statement.format(self.rows, value)).fetchone()
        return row[0] if row else None

    def _estimate(self) -> int:
        """Return the number of rows that the server expects, without reading them."""
        row = self.conn.execute(sql.SQL("EXPLAIN (FORMAT JSON) SELECT FROM {} AS q").format(self.rows)).fetchone()
        return int(row[0][0]["Plan"]["Plan Rows"]) if row else 0

    def partitions(
        self, cursor: Cursor, names: Sequence[str], start: str | None, cut: str, most: int
    ) -> list[PartitionExtent]:
        column = self._column(cursor.column)
        value, parts = _value(column), [_value(self._column(name)) for name in names]
        conditions = [sql.SQL("{} < {}").format(value, _literal(column, cut))]
        if start is not None:
            conditions.append(sql.SQL("{} >= {}").format(value, _literal(column, start)))
        statement = sql.SQL(
            "SELECT (min({value}) FILTER (WHERE {finite}))::text, {texts} FROM {rows} AS q WHERE {conditions}"
            " GROUP BY {parts} ORDER BY {parts} LIMIT {most}"
        ).format(
            value=value,
            finite=_finite(cursor, column),
            texts=_texts(parts),
            rows=self.rows,
            conditions=_all(conditions),
            parts=sql.SQL(", ").join(parts),
            most=most,
        )
        found = self.conn.execute(statement).fetchall()
        return [PartitionExtent(dict(zip(names, values, strict=True)), lowest) for lowest, *values in found]

    # --- the rows of all chunks ------------------------------------------------------------------------------

    def groups(self, counting: ChunkCounting) -> list[RowGroup]:
        names, column = counting.partition_by, self._column(counting.cursor.column)
        value, parts = _value(column), [_value(self._column(name)) for name in counting.partition_by]
        found: list[RowGroup] = []
        if counting.bounds:
            conditions = [sql.SQL("{} < {}").format(value, _literal(column, counting.bounds[-1]))]
            if counting.start is not None:
                conditions.append(sql.SQL("{} >= {}").format(value, _literal(column, counting.start)))
            statement = sql.SQL(
                "SELECT width_bucket({value}, {bounds}::{type}[]), count(*), {total}, {texts} FROM {rows} AS q"
                " WHERE {conditions} GROUP BY {groups}"
            ).format(
                value=value,
                bounds=sql.Literal(list(counting.bounds)),
                type=sql.SQL(column.base),
                total=self._sum(value),
                texts=_texts(parts) if parts else sql.SQL("NULL"),
                rows=self.rows,
                conditions=_all(conditions),
                groups=sql.SQL(", ").join([sql.SQL("1"), *parts]),
            )
            for place, rows, total, *values in self.conn.execute(statement).fetchall():
                found.append(RowGroup(dict(zip(names, values, strict=False)), place, rows, int(total)))
        if counting.has_nulls:
            nulls = self._one(sql.SQL("SELECT count(*) FROM {} AS q WHERE {} IS NULL"), value)
            found.append(RowGroup({}, None, nulls))
        return found

    def _column(self, name: str) -> DestinationColumn:
        column = next((column for column in self.columns if column.name == name), None)
        if column is None:
            raise Terminal(
                "backfill.column_unknown",
                f"{self.name} has no column {name!r}.",
                hint=f"It has {', '.join(column.name for column in self.columns)}.",
            )
        return column


def _value(column: DestinationColumn) -> sql.Composable:
    return sql.Identifier("q", column.name)


def _literal(column: DestinationColumn, text: str) -> sql.Composable:
    """Return a bound. It is not rounded to the precision of the column."""
    return sql.SQL("{}::{}").format(sql.Literal(text), sql.SQL(column.base))


def _finite(cursor: Cursor, column: DestinationColumn) -> sql.Composable:
    test = _TIMES if cursor.axis.grain is not None else _NUMBERS
    return sql.SQL(test).format(_value(column))


def _texts(values: Sequence[sql.Composable]) -> sql.Composable:
    return sql.SQL(", ").join(sql.SQL("({})::text").format(value) for value in values)


def _all(conditions: Sequence[sql.Composable]) -> sql.Composable:
    return sql.SQL("({})").format(sql.SQL(" AND ").join(conditions)) if conditions else sql.SQL("true")
