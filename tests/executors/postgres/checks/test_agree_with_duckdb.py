"""Checks observe the same values as DuckDB on the same rows: NULLs, repeated values, all of Unicode, and the limits of
every type."""

from __future__ import annotations

import math
from datetime import UTC, date, datetime
from decimal import Decimal
from fractions import Fraction
from typing import Any

import duckdb
import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from executors.postgres.staging import create_staging
from executors.types import wire_type
from ir.checks import (
    Cardinality,
    DistinctRatio,
    DuplicateKey,
    Freshness,
    Mean,
    NullRate,
    RowCount,
    Sum,
    Unique,
)
from tests.executors.postgres.checks.conftest import NOW, bounded
from tests.properties import examples

texts = st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"]), max_size=3)
COLUMNS = {
    "i": ("integer", st.integers(-(2**31), 2**31 - 1) | st.integers(-2, 2)),
    "b": ("bigint", st.integers(-(2**63), 2**63 - 1) | st.integers(-2, 2)),
    "d": ("decimal(20,4)", st.decimals(-(10**15), 10**15, places=4) | st.sampled_from([Decimal("0.1"), Decimal(1)])),
    "f": ("float", st.sampled_from([0.0, 0.5, -0.25, 1024.0, math.nan, math.inf])),
    "s": ("string", texts | st.sampled_from(["a", "A", "ä", "a\u0308", " a", "a "])),
    "t": (
        "timestamp",
        st.datetimes(datetime(1, 1, 1), datetime(9999, 12, 31))
        | st.sampled_from([datetime(2025, 6, 15, 12), datetime(2025, 6, 15, 12, 0, 0, 1), datetime(2025, 6, 1)]),
    ),
    "z": ("timestamptz", st.datetimes(datetime(1, 1, 2), datetime(9999, 12, 30), timezones=st.just(UTC))),
    "y": ("date", st.dates() | st.sampled_from([date(2025, 6, 15), date(2025, 6, 16)])),
}
rows = st.lists(st.tuples(*(st.none() | values for _, values in COLUMNS.values())), max_size=12).map(
    lambda made: made + made[:2]
)
_TABLE = "i integer, b bigint, d numeric(20,4), f double precision, s text, t timestamp, z timestamptz, y date"


@pytest.fixture
def load(make: Any, loading: Any) -> Any:
    make(f"CREATE TABLE t ({_TABLE})")
    return loading(
        "t", *(f"{name} {kind}" for name, (kind, _) in COLUMNS.items()), mode="truncate", empty_as_null=False
    )


@settings(max_examples=examples(12), suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(rows)
def test_what_checks_observe(load: Any, checking: Any, given_rows: list[tuple[Any, ...]]) -> None:
    create_staging(load.conn, load.tables, load.columns)
    load.winners.clear()
    load.stage(given_rows)
    duck = duckdb.connect()
    duck.execute("SET TimeZone = 'Asia/Kolkata'")
    columns = zip(*given_rows, strict=True) if given_rows else [[]] * len(COLUMNS)
    kinds = [wire_type(column.type).arrow for column in load.columns]
    arrays = [pa.array(values, kind) for values, kind in zip(columns, kinds, strict=True)]
    duck.register("staged", pa.table(arrays, names=list(COLUMNS)))

    def one(query: str) -> Any:
        return duck.execute(query).fetchone()

    def observed(check: Any) -> Any:
        return checking.run(load, check).observed

    assert observed(RowCount(min=0, on_fail="warn")) == one("SELECT count(*) FROM staged")[0]
    for name in COLUMNS:
        distinct, count, total = one(f"SELECT count(DISTINCT {name}), count({name}), count(*) FROM staged")
        assert observed(bounded(Cardinality, 0, names=("minDistinct", "maxDistinct"), column=name)) == distinct
        ratio = observed(bounded(DistinctRatio, 0, column=name))
        assert ratio == (round(distinct / count, 6) if count else None)
        assert observed(bounded(NullRate, 0, column=name)) == (round(1 - count / total, 6) if total else 0)
        assert observed(Unique(column=name, on_fail="warn")) == _repeated(one, [name])
    for pair in (["i", "s"], ["y", "d"], ["f", "b", "t"]):
        assert observed(DuplicateKey(columns=pair, on_fail="warn")) == _repeated(one, pair)
    for name, exact in (("i", "HUGEINT"), ("b", "HUGEINT"), ("d", "DECIMAL(38,4)"), ("f", "DOUBLE")):
        total, count = one(f"SELECT sum({name}::{exact}), count({name}) FROM staged")
        assert _exact(observed(bounded(Sum, "-1e40", column=name))) == _exact(total or 0)
        mean = observed(bounded(Mean, "-1e40", column=name))
        expected = float(Fraction(total) / count) if count and math.isfinite(total) else total
        assert (mean is None) == (expected is None)
        assert mean is None or _exact(mean) == _exact(float(expected))
    for name in ("t", "y", "z"):
        _fresh(one, checking.run(load, Freshness(column=name, within_hours=24, on_fail="warn")), name)


def _repeated(one: Any, columns: list[str]) -> int:
    keys, known = ", ".join(columns), " AND ".join(f"{name} IS NOT NULL" for name in columns)
    query = (
        f"SELECT coalesce(sum(n), 0) FROM (SELECT count(*) AS n FROM staged WHERE {known} GROUP BY {keys}) WHERE n > 1"
    )
    return int(one(query)[0])


def _exact(value: Any) -> str:
    """Return a number of DuckDB or Flow; as text if JSON cannot represent it."""
    number = Decimal(repr(value) if isinstance(value, float) else str(value))
    return str(number) if not number.is_finite() else str(Fraction(number))


def _fresh(one: Any, report: Any, name: str) -> None:
    zone = f"epoch_us({name})" if name == "z" else f"epoch_us({name}::TIMESTAMP)"
    now = int(NOW.timestamp()) * 1_000_000
    newest, future = one(f"SELECT max({zone}) FILTER ({zone} <= {now}), count(*) FILTER ({zone} > {now}) FROM staged")
    age = None if newest is None else (now - newest) / 3_600_000_000
    assert report.ok == (age is not None and age <= 24)
    assert report.observed == (None if age is None else round(age, 2))
    assert ("in the future" in (report.message or "")) == (future > 0)
