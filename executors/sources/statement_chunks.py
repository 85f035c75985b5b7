"""The history of sources that send their rows by one statement: MySQL and database files."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from psycopg import sql

from executors.backfill.extents import ChunkCounting, Cursor, Extent, RowGroup
from executors.errors import Terminal
from executors.model import ChunkJob, SourceField
from executors.types import postgres_type
from ir.cursor_values import axis_of

FetchedRow = Sequence[str | None]
_UTC = "+00:00"


@dataclass(frozen=True, slots=True)
class Compared:
    """How values of a type are compared: the literal of one, and the condition for those that a watermark can follow;
    `{}` is the text or the column. Literals without zones are times in UTC."""

    literal: str
    finite: str
    has_zones: bool = True


@dataclass(frozen=True, slots=True)
class CursorDialect:
    """What a database writes differently: the name of a column of the row `q`, a value as text, the types of cursors
    whose values it compares as a target does, and a number that is nearly always another one for another value."""

    column: Callable[[str], sql.Composable]
    text: str
    compared: Mapping[str, Compared]
    hashed: str


@dataclass(frozen=True, slots=True)
class StatementHistory:
    """The rows of a source, as `rows`, and its columns. `fetch` returns the rows of a statement with few of them."""

    name: str
    rows: sql.Composable
    fields: Sequence[SourceField]
    dialect: CursorDialect
    fetch: Callable[[sql.Composable, int], Sequence[FetchedRow]]

    def of_chunk(self, job: ChunkJob) -> sql.Composable:
        """Return the condition of a chunk on a row `q`. Raises Terminal if the type of the cursor has changed."""
        chunk, cursor = job.chunk, self.cursor(job.chunk.column)
        if cursor.type != job.type:
            raise Terminal(
                "backfill.type_changed",
                f"{chunk.column!r} of {self.name} was {job.type} when the chunks were planned, and is {cursor.type} "
                "now.",
                hint="Start the backfill again.",
            )
        value = self.dialect.column(chunk.column)
        parts = [sql.SQL("{} IS NULL").format(value)] if chunk.is_null else []
        if chunk.lower is not None:
            parts.append(sql.SQL("{} >= {}").format(value, self._literal(cursor, chunk.lower)))
        if chunk.upper is not None:
            parts.append(sql.SQL("{} < {}").format(value, self._literal(cursor, chunk.upper)))
        return sql.SQL("({})").format(sql.SQL(" AND ").join(parts)) if parts else sql.SQL("1 = 1")

    def sum_of(self, job: ChunkJob) -> str:
        """Return the sum of the hashes of the cursor of a chunk's rows."""
        total = self._text(sql.SQL("sum({})").format(self._hash(self.dialect.column(job.chunk.column))))
        statement = sql.SQL("SELECT {} AS c0 FROM {} q WHERE {}").format(total, self.rows, self.of_chunk(job))
        return next((row[0] or "0" for row in self.fetch(statement, 1)), "0")

    def _hash(self, value: sql.Composable) -> sql.Composable:
        return sql.SQL(self.dialect.hashed).format(value)

    def cursor(self, name: str) -> Cursor:
        field = next((field for field in self.fields if field.name == name), None)
        if field is None:
            raise Terminal(
                "backfill.column_unknown",
                f"{self.name} has no column {name!r}.",
                hint=f"It has {', '.join(field.name for field in self.fields)}.",
            )
        cursor = Cursor(name, _TYPES.get(field.type.kind) or postgres_type(field.type), field.type)
        if axis_of(field.type) is None or field.type.kind not in self.dialect.compared:
            raise Terminal(
                "backfill.column_unordered",
                f"{name!r} of {self.name} is {field.type}. Its values cannot be divided into ranges here.",
                hint=f"Use a column of one of the types {', '.join(self.dialect.compared)}.",
            )
        return cursor

    def extent(self, name: str, latest: datetime) -> Extent:
        cursor, value = self.cursor(name), self.dialect.column(name)
        reachable, now = self._finite(cursor), cursor.axis.at(latest)
        if now is not None:
            reachable = sql.SQL("{} AND {} <= {}").format(reachable, value, self._literal(cursor, now))
        nulls = sql.SQL("SELECT 1 AS c0 FROM {} q WHERE {} IS NULL LIMIT 1").format(self.rows, value)
        return Extent(
            cursor,
            highest=self._first(value, reachable, "DESC"),
            lowest=self._first(value, reachable, "ASC"),
            has_nulls=bool(self.fetch(nulls, 1)),
        )

    def _first(self, value: sql.Composable, condition: sql.Composable, order: str) -> str | None:
        statement = sql.SQL("SELECT {0} AS c0 FROM {1} q WHERE {2} ORDER BY {3} {4} LIMIT 1").format(
            self._text(value), self.rows, condition, value, sql.SQL(order)
        )
        return next((row[0] for row in self.fetch(statement, 1)), None)

    def groups(self, counting: ChunkCounting) -> list[RowGroup]:
        value = self.dialect.column(counting.cursor.column)
        found: list[RowGroup] = []
        if counting.bounds:
            literals = [self._literal(counting.cursor, bound) for bound in counting.bounds]
            inside = sql.SQL("{} < {}").format(value, literals[-1])
            if counting.start is not None:
                start = self._literal(counting.cursor, counting.start)
                inside = sql.SQL("{} AND {} >= {}").format(inside, value, start)
            statement = sql.SQL(
                "SELECT {} AS c0, {} AS c1, {} AS c2 FROM (SELECT {} AS place, {} AS hashed FROM {} q WHERE {}) g"
                " GROUP BY place"
            ).format(
                *(self._text(sql.SQL(value)) for value in ("place", "count(*)", "sum(hashed)")),
                _place(value, literals, 0),
                self._hash(value),
                self.rows,
                inside,
            )
            counted = self.fetch(statement, 3)
            found += [RowGroup({}, int(place or 0), int(rows or 0), int(total or 0)) for place, rows, total in counted]
        if counting.has_nulls:
            statement = sql.SQL("SELECT {} AS c0 FROM {} q WHERE {} IS NULL").format(
                self._text(sql.SQL("count(*)")), self.rows, value
            )
            found += [RowGroup({}, None, int(row[0] or 0)) for row in self.fetch(statement, 1)]
        return found

    def _finite(self, cursor: Cursor) -> sql.Composable:
        value = self.dialect.column(cursor.column)
        finite = sql.SQL(self.dialect.compared[cursor.kind.kind].finite).format(value)
        return sql.SQL("{} IS NOT NULL AND {}").format(value, finite)

    def _literal(self, cursor: Cursor, text: str) -> sql.Composable:
        """Return the literal of a value, whose text is written anew: it has only the characters of numbers and
        times."""
        written, compared = cursor.axis.text(cursor.axis.position(text)), self.dialect.compared[cursor.kind.kind]
        return sql.SQL(compared.literal.replace("{}", written if compared.has_zones else written.removesuffix(_UTC)))

    def _text(self, value: sql.Composable) -> sql.Composable:
        return sql.SQL(self.dialect.text).format(value)


_TYPES = {"timestamp": "timestamp without time zone", "timestamptz": "timestamp with time zone"}
"""The names that PostgreSQL itself gives to types, where Flow writes others."""


def _place(value: sql.Composable, bounds: Sequence[sql.Composable], below: int) -> sql.Composable:
    """Return the number of bounds that are not above a value, plus `below`, by a binary search."""
    if not bounds:
        return sql.SQL(str(below))
    middle = len(bounds) // 2
    return sql.SQL("CASE WHEN {} < {} THEN {} ELSE {} END").format(
        value,
        bounds[middle],
        _place(value, bounds[:middle], below),
        _place(value, bounds[middle + 1 :], below + middle + 1),
    )
