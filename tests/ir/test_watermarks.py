"""The columns that a watermark can use, and the lags that are valid."""

from __future__ import annotations

from datetime import timedelta
from decimal import Decimal

import pytest

from ir.types import ColumnType
from ir.watermarks import lag_fault, parse_lag, watermark_family


@pytest.mark.parametrize(
    ("name", "family"),
    [
        ("integer", "number"),
        ("bigint", "number"),
        ("decimal(12,2)", "number"),
        ("pg:smallint", "number"),
        ("pg:numeric", "number"),
        ("pg:numeric(50,2)", "number"),
        ("date", "time"),
        ("timestamp", "time"),
        ("timestamptz", "time"),
        ("string", "text"),
        ("float", None),
        ("pg:real", None),
        ("boolean", None),
        ("json", None),
        ("uuid", None),
        ("binary", None),
        ("time", None),
        ("pg:interval", None),
        ("pg:int4range", None),
    ],
)
def test_types_with_an_order_to_follow(name, family):
    assert watermark_family(ColumnType.parse(name)) == family


@pytest.mark.parametrize(
    ("written", "lag"), [("15m", timedelta(minutes=15)), (10, Decimal(10)), (0.1, Decimal("0.1")), (1e3, Decimal(1000))]
)
def test_a_lag_is_read_exactly(written, lag):
    assert parse_lag(written) == lag


@pytest.mark.parametrize(
    ("kind", "lag"),
    [
        ("bigint", 10),
        ("decimal(12,2)", 0.5),
        ("pg:numeric", 0.5),
        ("date", "1d"),
        ("timestamptz", "15m"),
        ("integer", 1.0),
    ],
)
def test_a_lag_in_the_type_of_the_watermark_fits(kind, lag):
    assert lag_fault(parse_lag(lag), ColumnType.parse(kind)) is None


@pytest.mark.parametrize(
    ("kind", "lag"), [("bigint", "10s"), ("pg:smallint", 0.5), ("timestamp", 10), ("string", 1), ("string", "1d")]
)
def test_a_lag_of_another_kind_does_not(kind, lag):
    assert lag_fault(parse_lag(lag), ColumnType.parse(kind))
