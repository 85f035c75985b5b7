"""The vectorised grammar against Python's own int, float, Decimal and datetime."""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from datetime import UTC, date, datetime, timedelta, timezone
from decimal import Decimal, localcontext
from typing import Any

import pyarrow as pa
from hypothesis import example, given
from hypothesis import strategies as st

from executors.grammar import parse_column
from ir.types import ColumnType

NUMBER_LIKE = st.text("0123456789+-.eE x_,", max_size=14) | st.from_regex(
    r"\A[ ]?[+-]?[0-9]{0,22}(\.[0-9]{0,22})?([eE][+-]?[0-9]{1,3})?[ ]?\Z"
)
DATE_LIKE = st.from_regex(r"\A[0-2][0-9]{3}-[01][0-9]-[0-3][0-9]\Z") | st.dates().map(str)
_NUMBER = re.compile(r"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?")


def check(texts: list[str], kind: str, expected: Callable[[str], Any]) -> None:
    typed, bad = parse_column(pa.array(texts, pa.string()), ColumnType.parse(kind))
    want = [expected(text.strip()) for text in texts]
    assert bad.to_pylist() == [value is None for value in want]
    assert typed.to_pylist() == want


def an_integer(bits: int) -> Callable[[str], int | None]:
    def expected(text: str) -> int | None:
        value = int(text) if re.fullmatch("[+-]?[0-9]+", text) else None
        return value if value is not None and -(1 << (bits - 1)) <= value < 1 << (bits - 1) else None

    return expected


@given(st.lists(NUMBER_LIKE | st.integers(-(2**33), 2**33).map(str), max_size=8))
def test_integer_is_int_in_32_bits(texts: list[str]) -> None:
    check(texts, "integer", an_integer(32))


@given(st.lists(NUMBER_LIKE | st.integers(-(2**65), 2**65).map(str), max_size=8))
def test_bigint_is_int_in_64_bits(texts: list[str]) -> None:
    check(texts, "bigint", an_integer(64))


def a_float(text: str) -> float | None:
    if not _NUMBER.fullmatch(text):
        return None
    value = float(text)
    lost = value == 0 and Decimal(text) != 0
    return None if math.isinf(value) or lost else value


@given(st.lists(NUMBER_LIKE | st.floats(allow_nan=False, allow_infinity=False).map(repr), max_size=8))
def test_float_is_the_nearest_double(texts: list[str]) -> None:
    check(texts, "float", a_float)


@given(
    st.lists(NUMBER_LIKE | st.decimals(allow_nan=False, allow_infinity=False, places=3).map(str), max_size=8),
    st.integers(1, 38),
    st.integers(0, 38),
)
@example(["34.029"], 34, 37)
@example(["1234567890.5"], 38, 30)
def test_decimal_fits_exactly_or_not_at_all(texts: list[str], precision: int, scale: int) -> None:
    def expected(text: str) -> Decimal | None:
        if not _NUMBER.fullmatch(text):
            return None
        with localcontext(prec=3000, Emax=10**6, Emin=-(10**6)):
            units = Decimal(text).scaleb(scale)
            fits = units == units.to_integral_value() and abs(units) < Decimal(10) ** precision
            return Decimal(text) if fits else None

    check(texts, f"decimal({precision},{scale})", expected)


@given(st.lists(DATE_LIKE, max_size=8))
def test_date_is_a_day_of_the_calendar(texts: list[str]) -> None:
    def expected(text: str) -> date | None:
        try:
            return date.fromisoformat(text)
        except ValueError:
            return None

    check(texts, "date", expected)


@given(st.lists(st.datetimes(), max_size=8), st.sampled_from("T "), st.sampled_from(["microseconds", "seconds"]))
def test_timestamps_come_back(moments: list[datetime], separator: str, spec: str) -> None:
    texts = [moment.isoformat(separator, spec) for moment in moments]
    check(texts, "timestamp", datetime.fromisoformat)


@given(st.lists(st.datetimes(datetime(2, 1, 1), datetime(9998, 1, 1)), max_size=8), st.integers(-15 * 60, 15 * 60))
def test_offsets_are_taken_off(moments: list[datetime], minutes: int) -> None:
    zone = timezone(timedelta(minutes=minutes))
    texts = [moment.replace(tzinfo=zone).isoformat() for moment in moments]
    check(texts, "timestamptz", lambda text: datetime.fromisoformat(text).astimezone(UTC))


PARSED = (
    "integer",
    "float",
    "decimal(9,3)",
    "boolean",
    "date",
    "timestamp",
    "timestamptz",
    "time",
    "json",
    "uuid",
    "binary",
)


@given(st.lists(st.text(max_size=12), max_size=6), st.sampled_from(PARSED))
def test_no_text_raises_and_each_answer_is_a_value_or_bad(texts: list[str], kind: str) -> None:
    typed, bad = parse_column(pa.array(texts, pa.string()), ColumnType.parse(kind))
    assert [value is None for value in typed.to_pylist()] == bad.to_pylist()
