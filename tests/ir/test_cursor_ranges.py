"""Windows have every value below the cut exactly once, whatever the values and the window are."""

from __future__ import annotations

import itertools
from datetime import date, datetime, timedelta
from decimal import Decimal

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ir.cursor_ranges import Windows
from ir.cursor_values import Axis, axis_of
from ir.types import ColumnType
from tests.properties import examples

INTEGERS = st.integers(-(2**63), 2**63 - 1)
DECIMALS = st.decimals(allow_nan=False, allow_infinity=False, min_value=-(10**40), max_value=10**40)
MOMENTS = st.datetimes(min_value=datetime(1, 1, 1), max_value=datetime(9999, 12, 31))
DATES = st.dates(min_value=date(1, 1, 1), max_value=date(9999, 12, 30))


@st.composite
def ranges(draw: st.DrawFn) -> tuple[Axis, list[str], str | None, Decimal | timedelta]:
    """Values of one type, perhaps a start among or beside them, and a window that makes at most some 300 chunks."""
    kind, values = draw(
        st.sampled_from(
            [
                ("bigint", INTEGERS.map(str)),
                ("decimal(40,10)", DECIMALS.map(lambda value: f"{value:f}")),
                ("timestamp", MOMENTS.map(lambda value: value.isoformat(" "))),
                ("timestamptz", MOMENTS.map(lambda value: value.isoformat(" ") + "+00")),
                ("date", DATES.map(str)),
            ]
        )
    )
    axis = axis_of(ColumnType.parse(kind))
    assert axis is not None
    texts = draw(st.lists(values, min_size=1, max_size=30))
    positions = [axis.position(text) for text in texts]
    span = max(max(positions) - min(positions), 1)
    share = draw(st.fractions(min_value="1/300", max_value=3))
    if kind == "bigint":
        window: Decimal | timedelta = Decimal(max(int(span * share), 1))
    elif kind.startswith("decimal"):
        window = Decimal(max(int(span * share * 10**6), 1)).scaleb(-6)
    else:
        unit = timedelta(days=1) if kind == "date" else timedelta(microseconds=1)
        window = max(min(unit * float(span * share), timedelta(days=365 * 9000)), timedelta(seconds=1))
    start = draw(st.none() | st.sampled_from(texts) | values)
    if start is not None and max(positions) - axis.position(start) > 300 * axis.step(window):
        start = None
    return axis, texts, start, window


@given(ranges())
@settings(max_examples=examples(300), deadline=None)
def test_windows_partition_the_values_below_the_cut(drawn: tuple[Axis, list[str], str | None, Decimal]) -> None:
    axis, texts, start, size = drawn
    cut, lowest = (f(texts, key=axis.position) for f in (max, min))

    windows = list(made := Windows(axis, size, cut, lowest, start))

    assert len(windows) == made.number
    bounds = [(None if w.lower is None else axis.position(w.lower), axis.position(w.upper)) for w in windows]
    for text in texts:
        at = axis.position(text)
        holding = [b for b in bounds if (b[0] is None or b[0] <= at) and at < b[1]]
        is_wanted = at < axis.position(cut) and (start is None or axis.position(start) <= at)
        assert len(holding) == is_wanted, text
    assert all(one.upper == other.lower for one, other in itertools.pairwise(windows))
    assert all(lower is None or lower < upper for lower, upper in bounds)


@pytest.mark.parametrize(
    ("kind", "lowest", "cut", "window", "expected"),
    [
        ("bigint", "9007199254740993", "9007199254740995", Decimal(1), ["9007199254740994", "9007199254740995"]),
        ("integer", "3", "25", Decimal(10), ["10", "20", "25"]),
        ("decimal(5,2)", "0.10", "0.35", Decimal("0.1"), ["0.2", "0.3", "0.35"]),
        ("date", "2024-01-01", "2024-01-05", timedelta(hours=36), ["2024-01-02", "2024-01-04", "2024-01-05"]),
        ("timestamp", "2024-02-28 10:00:00.5", "2024-03-01 00:00:00", timedelta(days=1), ["2024-02-29 00:00:00"]),
        ("timestamptz", "2024-01-01 00:00:00+00", "2024-01-01 00:00:00+00", timedelta(days=1), []),
    ],
)
def test_windows_begin_at_round_values_and_end_at_the_cut(
    kind: str, lowest: str, cut: str, window: Decimal | timedelta, expected: list[str]
) -> None:
    axis = axis_of(ColumnType.parse(kind))
    assert axis is not None

    uppers = [w.upper for w in Windows(axis, window, cut, lowest)]

    assert uppers == [*expected, cut] if expected[-1:] != [cut] else uppers == expected


def test_a_range_that_is_too_long_is_counted_without_making_its_windows() -> None:
    axis = axis_of(ColumnType.parse("bigint"))
    assert axis is not None

    assert Windows(axis, Decimal(1), str(2**63 - 1), str(-(2**63))).number == 2**64 - 1
    assert Windows(axis, Decimal(1), "5", "0", start="5").number == 0


def test_a_watermark_goes_back_by_its_lag_as_in_the_target() -> None:
    whole, day = axis_of(ColumnType("pg", pg_name="smallint")), axis_of(ColumnType("date"))
    assert whole is not None
    assert day is not None

    assert whole.minus("-32760", Decimal(100)) == "-32768"
    assert day.minus("2024-05-05", timedelta(hours=12)) == "2024-05-04"
    assert day.minus("2024-05-05", timedelta(days=1)) == "2024-05-04"
    assert day.minus("2024-05-05", None) == "2024-05-05"


@pytest.mark.parametrize("kind", ["float", "string", "boolean", "time", "pg:uuid"])
def test_values_without_an_order_or_a_distance_have_no_axis(kind: str) -> None:
    assert axis_of(ColumnType.parse(kind)) is None


@pytest.mark.parametrize(
    ("kind", "text"),
    [
        ("bigint", "9223372036854775808"),
        ("bigint", "-9223372036854775809"),
        ("pg:smallint", "32768"),
        ("bigint", "1e999999999"),
        ("decimal(10,2)", "1e999999999"),
        ("decimal(10,2)", "1e-999999999"),
        ("timestamptz", "0001-01-01T00:00:00+14:00"),
        ("timestamptz", "9999-12-31T23:00:00-10:00"),
        ("date", "10000-01-01"),
    ],
)
def test_values_that_a_type_does_not_have_are_refused_at_once(kind: str, text: str) -> None:
    axis = axis_of(ColumnType.parse(kind))
    assert axis is not None

    with pytest.raises(ValueError, match=r"is not|has more digits"):
        axis.position(text)
