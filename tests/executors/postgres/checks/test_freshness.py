"""`freshness`: UTC whatever the zones are, dates, future rows, no rows."""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta

import pytest

from executors.errors import Terminal
from ir.checks import Freshness
from tests.executors.postgres.checks.conftest import NOW

DAY = Freshness(column="c", within_hours=24, on_fail="warn")
NAIVE = NOW.replace(tzinfo=None)


def hours_ago(hours):
    return NAIVE - timedelta(hours=hours)


@pytest.fixture(params=["America/New_York", "Asia/Kolkata", "UTC"])
def zone(request, conn):
    conn.execute("SELECT set_config('timezone', %s, false)", [request.param])
    yield request.param
    conn.execute("SET timezone = 'UTC'")


@pytest.mark.parametrize(("hours", "ok"), [(23, True), (24, True), (25, False)])
def test_a_time_without_a_zone_is_utc(staged, checking, zone, hours, ok):
    report = checking.run(staged("c timestamp", [(hours_ago(hours),), (hours_ago(99),), (None,)]), DAY)
    assert (report.ok, report.observed) == (ok, hours)
    assert report.message == (None if ok else "the newest 'c' is 25.00 hours old, more than 24")


@pytest.mark.parametrize(("hours", "ok"), [(23, True), (25, False)])
def test_a_time_with_a_zone_is_that_moment(staged, checking, zone, hours, ok):
    at = (NOW - timedelta(hours=hours)).astimezone(UTC)
    assert checking.run(staged("c timestamptz", [(at,)]), DAY).ok is ok


@pytest.mark.parametrize(("day", "ok"), [(date(2025, 6, 15), True), (date(2025, 6, 14), False)])
def test_a_date_is_its_midnight(staged, checking, zone, day, ok):
    report = checking.run(staged("c date", [(day,)]), DAY)
    assert (report.ok, report.observed) == (ok, 12.0 if ok else 36.0)


def test_rows_in_the_future_do_not_make_old_rows_fresh_and_are_reported(staged, checking):
    report = checking.run(staged("c timestamp", [(datetime(2999, 1, 1),), (hours_ago(25),)]), DAY)
    assert not report.ok
    assert report.message == "the newest 'c' is 25.00 hours old, more than 24; 1 row with 'c' in the future"


def test_rows_in_the_future_are_reported_although_the_check_holds(staged, checking):
    report = checking.run(staged("c timestamp", [(datetime(2999, 1, 1),), (hours_ago(1),)]), DAY)
    assert (report.ok, report.message) == (True, "1 row with 'c' in the future")


@pytest.mark.parametrize("rows", [[], [(None,)]])
def test_nothing_is_never_fresh(staged, checking, rows):
    report = checking.run(staged("c timestamp", rows), DAY)
    assert (report.ok, report.observed) == (False, None)
    assert report.message == "no row has 'c' at or before now"


def test_a_column_of_another_type_is_refused_before_the_read(staged, checking):
    with pytest.raises(Terminal, match=r"check\.type.*'c' is text") as raised:
        checking.probe(staged("c text", []), DAY)
    assert raised.value.node == "check"
