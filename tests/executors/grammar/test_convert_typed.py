"""Converts typed Arrow values to column types, and each type to its one text form."""

from __future__ import annotations

import math
from datetime import UTC, date, datetime, time
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from executors.grammar import Written, canonical_text, convert_column, parse_column
from executors.types import wire_type
from ir.types import ColumnType

NOON = datetime(2024, 1, 31, 12)
US, NS, UTC_US = pa.timestamp("us"), pa.timestamp("ns"), pa.timestamp("us", "UTC")

CONVERSIONS: list[tuple[pa.Array, str, list[Any], list[bool]]] = [
    # integers
    (
        pa.array([1, 2**31, -(2**31) - 1, None], pa.int64()),
        "integer",
        [1, None, None, None],
        [False, True, True, False],
    ),
    (pa.array([1, None], pa.int32()), "bigint", [1, None], [False, False]),
    (pa.array([1, None], pa.int32()), "integer", [1, None], [False, False]),
    (pa.array([2**53 + 1], pa.int64()), "float", [float(2**53)], [False]),
    (pa.array([999, 1000, None], pa.int64()), "decimal(5,2)", [Decimal("999"), None, None], [False, True, False]),
    (pa.array([2**63 - 1], pa.int64()), "decimal(38,19)", [Decimal(2**63 - 1)], [False]),
    (pa.array([7], pa.int64()), "decimal(60,2)", ["7"], [False]),
    (pa.array([1, 2], pa.int32()), "boolean", [True, None], [False, True]),
    (pa.array([20240131], pa.int32()), "date", [None], [True]),
    (pa.array([7], pa.int32()), "json", ["7"], [False]),
    # floats
    (
        pa.array([1.0, 1e15, 1.5, 3e9, math.nan, math.inf, None]),
        "integer",
        [1, *[None] * 6],
        [False, *[True] * 5, False],
    ),
    (pa.array([1e15, -(2.0**63), 2.0**63]), "bigint", [10**15, -(2**63), None], [False, False, True]),
    (pa.array([0.5, 0.125, math.nan]), "decimal(3,2)", [Decimal("0.5"), None, None], [False, True, True]),
    (pa.array([1.5], pa.float32()), "float", [1.5], [False]),
    (pa.array([math.nan, 1.5]), "json", [None, "1.5"], [True, False]),
    # decimals
    (pa.array([Decimal("1.50"), Decimal("1.25")]), "decimal(2,1)", [Decimal("1.5"), None], [False, True]),
    (pa.array([Decimal("1.00"), Decimal("1.50")]), "integer", [1, None], [False, True]),
    (pa.array([Decimal("0.1")]), "float", [0.1], [False]),
    # dates and times
    (pa.array([NOON, datetime(2024, 1, 31), None], US), "date", [None, date(2024, 1, 31), None], [True, False, False]),
    (
        pa.array([datetime(1969, 12, 31), datetime(1969, 12, 31, 1)], US),
        "date",
        [date(1969, 12, 31), None],
        [False, True],
    ),
    (pa.array([NOON], UTC_US), "timestamp", [NOON], [False]),
    (pa.array([NOON], US), "timestamptz", [NOON.replace(tzinfo=UTC)], [False]),
    (pa.array([date(2024, 1, 31)]), "timestamp", [datetime(2024, 1, 31)], [False]),
    (pa.array([date(2024, 1, 31)]), "timestamptz", [datetime(2024, 1, 31, tzinfo=UTC)], [False]),
    (pa.array([1000, 1001], NS), "timestamp", [datetime(1970, 1, 1, 0, 0, 0, 1), None], [False, True]),
    (pa.array([2**60], pa.timestamp("s")), "timestamp", [None], [True]),
    (pa.array([1000, 1001], pa.time64("ns")), "time", [time(0, 0, 0, 1), None], [False, True]),
    (pa.array([NOON], US), "integer", [None], [True]),
    # others
    (pa.array([True, None]), "boolean", [True, None], [False, False]),
    (pa.array([True]), "integer", [None], [True]),
    (pa.array([True]), "string", ["true"], [False]),
    (pa.array([b"\x00\xff"]), "binary", [b"\x00\xff"], [False]),
    (pa.array([b"\x00\xff"]), "string", ["\\x00ff"], [False]),
    (pa.array(["12", "x"], pa.large_string()), "integer", [12, None], [False, True]),
    (pa.nulls(2), "decimal(5,2)", [None, None], [False, False]),
]


@pytest.mark.parametrize(("values", "kind", "typed", "bad"), CONVERSIONS)
def test_converts_what_fits_and_flags_the_rest(values: pa.Array, kind: str, typed: list[Any], bad: list[bool]) -> None:
    got, failed = convert_column(values, ColumnType.parse(kind))
    assert got.type == wire_type(ColumnType.parse(kind)).arrow
    assert (got.to_pylist(), failed.to_pylist()) == (typed, bad)


def test_text_may_come_in_its_own_format() -> None:
    typed, bad = convert_column(pa.array(["31.01.2024"]), ColumnType("date"), Written(("%d.%m.%Y",)))
    assert (typed.to_pylist(), bad.to_pylist()) == ([date(2024, 1, 31)], [False])


TEXTS: list[tuple[pa.Array, list[str | None]]] = [
    (pa.array([0, -7, None]), ["0", "-7", None]),
    (
        pa.array([1.0, 0.1, 1e20, 1e-7, math.nan, math.inf, -math.inf, None]),
        ["1", "0.1", "1e+20", "1e-7", "NaN", "Infinity", "-Infinity", None],
    ),
    (
        pa.array([Decimal("0.0000000"), Decimal("0.0000001"), Decimal("-12.5000000")]),
        ["0.0000000", "0.0000001", "-12.5000000"],
    ),
    (
        pa.array([NOON, NOON.replace(microsecond=500000), NOON.replace(microsecond=1)], US),
        ["2024-01-31 12:00:00", "2024-01-31 12:00:00.5", "2024-01-31 12:00:00.000001"],
    ),
    (pa.array([NOON], pa.timestamp("us", "Europe/Berlin")), ["2024-01-31 12:00:00Z"]),
    (pa.array([date(1, 2, 3)]), ["0001-02-03"]),
    (pa.array([time(1, 2, 3), time(1, 2, 3, 400)]), ["01:02:03", "01:02:03.0004"]),
    (pa.array([True, False]), ["true", "false"]),
    (pa.array([b"\x01\xfe", None]), ["\\x01fe", None]),
    (pa.array(["x", None]), ["x", None]),
]


@pytest.mark.parametrize(("values", "texts"), TEXTS)
def test_each_type_has_one_text(values: pa.Array, texts: list[str | None]) -> None:
    assert canonical_text(values).to_pylist() == texts


@given(
    st.sampled_from(
        [
            (st.integers(-(2**31), 2**31 - 1), "integer"),
            (st.integers(-(2**63), 2**63 - 1), "bigint"),
            (st.floats(allow_nan=False), "float"),
            (st.decimals(-(10**7), 10**7, places=9), "decimal(17,9)"),
            (st.datetimes(), "timestamp"),
            (st.datetimes(timezones=st.just(UTC)), "timestamptz"),
            (st.dates(), "date"),
            (st.times(), "time"),
            (st.booleans(), "boolean"),
            (st.binary(max_size=5), "binary"),
        ]
    ).flatmap(lambda pair: st.tuples(st.lists(st.none() | pair[0], max_size=5), st.just(pair[1])))
)
def test_the_text_of_a_value_reads_back_as_the_value(case: tuple[list[Any], str]) -> None:
    kind = ColumnType.parse(case[1])
    values = pa.array(case[0], wire_type(kind).arrow)
    typed, bad = parse_column(canonical_text(values), kind)
    assert typed.equals(values)
    assert bad.true_count == 0
