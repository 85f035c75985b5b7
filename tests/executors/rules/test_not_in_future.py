"""`notInFuture`: compares with the time of the run, in UTC."""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta, timezone
from typing import Any

import pyarrow as pa
import pytest

from executors.rules import row_rule_mask
from ir.rules import NotInFuture

RULE = NotInFuture(type="notInFuture", field="x", on_fail="skip")
NOW = datetime(2025, 6, 15, 12, tzinfo=UTC)
WALL = NOW.replace(tzinfo=None)
SECOND = timedelta(seconds=1)


def violating(values: pa.Array, now: datetime = NOW) -> list[Any]:
    return values.filter(row_rule_mask(RULE, values, now=now)).to_pylist()  # type: ignore[no-any-return]


def test_now_passes_and_a_second_later_does_not() -> None:
    assert violating(pa.array([WALL, WALL + SECOND, None])) == [WALL + SECOND]
    assert violating(pa.array([NOW, NOW + SECOND], pa.timestamp("us", "UTC"))) == [NOW + SECOND]


def test_the_zone_of_the_clock_does_not_matter() -> None:
    assert violating(pa.array([WALL, WALL + SECOND]), NOW.astimezone(timezone(timedelta(hours=9)))) == [WALL + SECOND]


def test_a_date_is_its_midnight_in_utc() -> None:
    assert violating(pa.array([date(2025, 6, 15), date(2025, 6, 16)])) == [date(2025, 6, 16)]


@pytest.mark.parametrize(
    ("text", "passes"),
    [
        ("2025-06-15", True),
        ("2025-06-16", False),
        ("2025-06-15 12:00", True),
        ("2025-06-15T12:00:01", False),
        ("2025-06-15T14:00:00+02:00", True),
        ("2025-06-15T12:00:00-00:01", False),
        ("2999-01-01", False),
        ("15.06.2025", False),
        ("", False),
        ("now", False),
    ],
)
def test_text_is_read_by_the_grammar_and_what_is_neither_fails(text: str, passes: bool) -> None:
    assert (violating(pa.array([text])) == []) is passes
