"""The times of schedules, especially at changes to and from daylight saving time."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ir.durations import parse_duration
from ir.pointers import ROOT
from ir.schedules import CronSchedule, EverySchedule, jitter_of, next_fire
from ir.timezones import timezone
from tests.properties import examples

BERLIN = ZoneInfo("Europe/Berlin")
KEY = "orders"


def cron(expression: str, zone: str = "Europe/Berlin") -> CronSchedule:
    return CronSchedule(kind="cron", expression=expression, timezone=zone)


def every(interval: str) -> EverySchedule:
    return EverySchedule(kind="every", interval=interval)


def fires(schedule, after: datetime, until: datetime, key: str = KEY) -> list[str]:
    """Return the local times of a schedule, requested one after the other as a scheduler does."""
    found: list[str] = []
    moment = next_fire(schedule, after, key)
    while moment <= until:
        found.append(moment.astimezone(BERLIN).isoformat(timespec="minutes"))
        moment = next_fire(schedule, moment, key)
    return found


def day(*date: int) -> tuple[datetime, datetime]:
    start = datetime(*date, tzinfo=BERLIN)
    return start - timedelta(seconds=1), start + timedelta(days=1) - timedelta(seconds=1)


def test_a_daily_time_in_the_hour_that_is_skipped_fires_right_after_it():
    assert fires(cron("30 2 * * *"), *day(2025, 3, 30)) == ["2025-03-30T03:00+02:00"]


def test_a_daily_time_in_the_hour_that_is_repeated_fires_once():
    assert fires(cron("30 2 * * *"), *day(2025, 10, 26)) == ["2025-10-26T02:30+02:00"]


@pytest.mark.parametrize(
    "date", [(2025, 3, 29), (2025, 3, 30), (2025, 3, 31), (2025, 10, 25), (2025, 10, 26), (2025, 10, 27)]
)
def test_a_daily_time_fires_once_on_each_day(date):
    assert len(fires(cron("30 2 * * *"), *day(*date))) == 1


def test_every_half_hour_goes_on_through_both_copies_of_an_hour():
    assert fires(cron("*/30 * * * *"), *day(2025, 10, 26))[3:9] == [
        "2025-10-26T01:30+02:00",
        "2025-10-26T02:00+02:00",
        "2025-10-26T02:30+02:00",
        "2025-10-26T02:00+01:00",
        "2025-10-26T02:30+01:00",
        "2025-10-26T03:00+01:00",
    ]


def test_every_half_hour_passes_over_the_hour_that_is_skipped():
    assert fires(cron("*/30 * * * *"), *day(2025, 3, 30))[3:5] == ["2025-03-30T01:30+01:00", "2025-03-30T03:00+02:00"]


@pytest.mark.parametrize(("date", "hour"), [((2025, 3, 30), "02:00+02:00"), ((2025, 10, 26), "02:00+02:00")])
def test_an_interval_of_a_day_is_24_hours_whatever_clocks_do(date, hour):
    schedule = every("24h")
    first, second = fires(schedule, day(*date)[0], day(*date)[0] + timedelta(hours=48))[:2]
    assert datetime.fromisoformat(second) - datetime.fromisoformat(first) == timedelta(hours=24)


def test_an_interval_fires_at_its_multiples_whenever_it_is_computed():
    late = datetime(2025, 1, 1, 10, 7, 33, tzinfo=UTC)
    assert next_fire(every("15m"), late, KEY) == datetime(2025, 1, 1, 10, 15, tzinfo=UTC)
    assert next_fire(every("15m"), datetime(2025, 1, 1, 10, 15, tzinfo=UTC), KEY) == datetime(
        2025, 1, 1, 10, 30, tzinfo=UTC
    )


def test_a_time_in_the_second_copy_of_an_hour_is_never_answered_with_a_time_that_is_past():
    second_copy = datetime(2025, 10, 26, 1, 10, tzinfo=UTC)  # 02:10 in Berlin, the second one
    assert next_fire(cron("30 2 * * *"), second_copy, KEY) == datetime(2025, 10, 27, 1, 30, tzinfo=UTC)


@given(
    st.sampled_from(
        ["30 2 * * *", "*/7 * * * *", "0 0 29 2 *", "5 1-3 * * 0", "59 23 L * *", "0 */5 * * 1#2", "0 0 31 * 1"]
    ),
    st.sampled_from(
        ["Europe/Berlin", "America/New_York", "Australia/Lord_Howe", "Africa/Casablanca", "UTC", "Asia/Tehran"]
    ),
    st.datetimes(datetime(1990, 1, 1), datetime(2060, 1, 1)),
)
@settings(max_examples=examples(100), deadline=None)
def test_the_next_time_lies_ahead(expression, zone, naive):
    after = naive.replace(tzinfo=UTC)
    assert next_fire(cron(expression, zone), after, KEY) > after


@given(st.text("0123456789*/,-LWF#MON ?@", max_size=30))
@settings(max_examples=examples(500), deadline=None)
def test_any_text_is_a_cron_expression_or_a_diagnostic(text):
    schedule = cron(text, "UTC")
    if not list(schedule.check(ROOT)):
        assert next_fire(schedule, datetime(2025, 1, 1, tzinfo=UTC), KEY) > datetime(2025, 1, 1, tzinfo=UTC)


def test_a_time_without_a_zone_is_refused():
    with pytest.raises(ValueError, match="time zone"):
        next_fire(every("1h"), datetime(2025, 1, 1), KEY)


@pytest.mark.parametrize(
    ("text", "seconds"), [("30s", 30), ("15m", 900), ("24h", 86_400), ("1d", 86_400), ("2w", 1_209_600)]
)
def test_a_duration_is_a_number_and_a_unit(text, seconds):
    assert parse_duration(text) == timedelta(seconds=seconds)


@pytest.mark.parametrize(
    "text", ["", "0m", "-5m", "5", "m", "1.5h", "1h30m", "15 m", " 15m", "15m\n", "1M", "١m", "99999999w"]
)
def test_anything_else_is_no_duration(text):
    with pytest.raises(ValueError, match="is not a duration"):
        parse_duration(text)


@pytest.mark.parametrize(
    "name", ["", "Mars", "europe/berlin", "../../etc/passwd", "/etc/localtime", "localtime", "UTC\n", "posix"]
)
def test_only_listed_time_zones_are_known(name):
    with pytest.raises(ValueError, match="is not a time zone"):
        timezone(name)


@given(
    st.text(max_size=20),
    st.sampled_from([cron("30 2 * * *"), every("15m")]),
    st.datetimes(datetime(2000, 1, 1), datetime(2060, 1, 1)),
)
@settings(max_examples=examples(100), deadline=None)
def test_a_jitter_moves_every_time_by_the_same_part_of_it(key, schedule, naive):
    after = naive.replace(tzinfo=UTC)
    moved = schedule.model_copy(update={"jitter": "10m"})
    offset = jitter_of(moved, key)
    assert timedelta() <= offset < timedelta(minutes=10)
    assert next_fire(moved, after + offset, key) == next_fire(schedule, after, key) + offset


def test_pipelines_of_one_schedule_are_spread_over_its_jitter():
    schedule = EverySchedule(kind="every", interval="1h", jitter="10m")
    minutes = [jitter_of(schedule, f"pipeline-{i}") // timedelta(minutes=1) for i in range(1000)]
    assert min(minutes.count(minute) for minute in range(10)) > 50


@pytest.mark.parametrize(
    ("schedule", "code"),
    [
        (EverySchedule(kind="every", interval="15m", jitter="16m"), "value.out_of_range"),
        (EverySchedule(kind="every", interval="2w", jitter="25h"), "value.out_of_range"),
        (CronSchedule(kind="cron", expression="* * * * *", jitter="25h"), "value.out_of_range"),
        (CronSchedule(kind="cron", expression="* * * * *", jitter="soon"), "duration.malformed"),
    ],
)
def test_a_jitter_is_a_duration_of_at_most_the_interval_and_a_day(schedule, code):
    assert [found.code for found in schedule.check(ROOT)] == [code]
