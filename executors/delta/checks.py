"""The staged rows of a Delta table as dataset checks see them, counted by DuckDB."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal

import pyarrow as pa
from deltalake import DeltaTable
from psycopg import sql
from pyarrow import dataset as ds

from executors.checks import COMMON
from executors.checks.base import CheckHandler, RepeatedKeys, StagedRows, no_number, no_time
from executors.delta.engine import Engine, open_engine
from executors.delta.plan import DeltaPlan
from executors.delta.rows import open_files, table_files
from executors.delta.staged import read_staged, staged_files
from executors.model import Destination, SourceField
from ir.checks import Freshness
from ir.checks.base import Amount, Check
from ir.kinds import KindTable

HANDLERS: KindTable[CheckHandler] = KindTable("check handler", COMMON)

_SUMS = {"integer": "HUGEINT", "bigint": "HUGEINT", "float": "DOUBLE"}
"""The types in which numbers are added, by their column types. Decimals are added in the widest type of their scale."""
_MOMENTS = {"date": "epoch_us({}::TIMESTAMP)", "timestamp": "epoch_us({})", "timestamptz": "epoch_us({})"}
"""SQL that converts a value to microseconds since 1970, by its column type."""


@dataclass(frozen=True, slots=True)
class StagedInDelta(StagedRows):
    """The rows of the winning tasks as `staged`, and those of the table as `existing`. `engine` is None before the
    pass, when nothing can be counted."""

    engine: Engine | None = None

    def _row(self, query: str, *parts: sql.Composable) -> tuple[int, ...]:
        if self.engine is None:
            raise LookupError("there are no staged rows before the pass")
        return tuple(self.engine.rows(sql.SQL(query).format(*parts))[0])

    def count(self) -> int:
        return self._row("SELECT count(*) FROM staged")[0]

    def count_nulls(self, check: Check, column: str) -> tuple[int, int]:
        nulls, count = self._row("SELECT count(*) - count({0}), count(*) FROM staged", sql.Identifier(column))
        return nulls, count

    def count_distinct(self, check: Check, column: str) -> tuple[int, int]:
        query = "SELECT count(DISTINCT {0}), count({0}) FROM staged"
        distinct, count = self._row(query, sql.Identifier(column))
        return distinct, count

    def require_number(self, check: Amount) -> None:
        self._sum_type(check)

    def total(self, check: Amount) -> tuple[Decimal | float, int]:
        value = sql.SQL("{}::{}").format(sql.Identifier(check.column), sql.SQL(self._sum_type(check)))
        found, count = self._row("SELECT sum({0}), count({0}) FROM staged", value)
        return (found if isinstance(found, float) else Decimal(found or 0)), count

    def _sum_type(self, check: Amount) -> str:
        _, column = self.column(check, check.column)
        if column.type.kind == "decimal":
            return f"DECIMAL(38, {column.type.scale})"
        if column.type.kind not in _SUMS:
            raise no_number(check, column)
        return _SUMS[column.type.kind]

    def require_key(self, check: Check, columns: Sequence[str]) -> None:
        """A table that can be opened can be read."""

    def count_repeated(self, check: Check, columns: Sequence[str]) -> RepeatedKeys:
        names = [sql.Identifier(name) for name in columns]
        same = sql.SQL(" AND ").join(sql.SQL("t.{0} = g.{0}").format(name) for name in names)
        exists = sql.SQL("EXISTS (SELECT 1 FROM existing AS t WHERE {})").format(same)
        found = self._row(
            "SELECT coalesce(sum(k.n) FILTER (WHERE k.n > 1 OR k.there), 0),"
            " coalesce(sum(k.n) FILTER (WHERE k.n > 1), 0),"
            " count(*) FILTER (WHERE k.n > 1), coalesce(sum(k.n) FILTER (WHERE k.there), 0)"
            " FROM (SELECT g.n, {0} AS there FROM (SELECT {1}, count(*) AS n FROM staged WHERE {2} GROUP BY {1}) AS g)"
            " AS k",
            exists if self.adds_rows else sql.SQL("false"),
            sql.SQL(", ").join(names),
            sql.SQL(" AND ").join(sql.SQL("{} IS NOT NULL").format(name) for name in names),
        )
        return RepeatedKeys(*map(int, found))

    def require_time(self, check: Freshness) -> None:
        self._moment(check)

    def age(self, check: Freshness) -> tuple[Decimal | float | None, int]:
        now = round(self.now.timestamp() * 1_000_000)
        newest, future = self._row(
            "SELECT max(moment) FILTER (WHERE moment <= {0}), count(*) FILTER (WHERE moment > {0}) FROM"
            " (SELECT {1} AS moment FROM staged)",
            sql.Literal(now),
            self._moment(check),
        )
        return (None if newest is None else Decimal(now - newest) / 1_000_000), future

    def _moment(self, check: Freshness) -> sql.Composed:
        _, column = self.column(check, check.column)
        if column.type.kind not in _MOMENTS:
            raise no_time(check, column)
        return sql.SQL(_MOMENTS[column.type.kind]).format(sql.Identifier(check.column))


@contextmanager
def counting(
    plan: DeltaPlan,
    table: DeltaTable | None,
    working: Sequence[SourceField],
    dest: Destination,
    now: datetime,
    *,
    adds_rows: bool,
) -> Iterator[StagedInDelta]:
    """Open an engine with the staged rows and those of the table."""
    staged = _staged_rows(plan)
    existing = open_files(plan.log.folder, table_files(table, plan.log.folder), plan.schema)
    with open_engine(plan) as engine, engine.reading("staged", staged), engine.reading("existing", existing):
        yield StagedInDelta(plan.columns, working, dest, adds_rows, now, engine)


def _staged_rows(plan: DeltaPlan) -> ds.Dataset | pa.Table:
    """Return the staged rows that can be read several times. If some are excluded, they are the few of a replay."""
    if plan.excluded:
        return read_staged(plan).read_all()
    return open_files(plan.log.folder, staged_files(plan), plan.schema)
