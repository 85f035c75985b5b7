"""Cron expressions of common shapes, and schedules in plain words."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ir.schedule_patterns import CronPattern, describe_schedule, pattern_of
from ir.schedules import CronSchedule, EverySchedule

HOURS, MINUTES = st.integers(0, 23), st.integers(0, 59)
PATTERNS = st.one_of(
    st.builds(CronPattern, st.just("hourly"), minute=MINUTES),
    st.builds(CronPattern, st.sampled_from(["daily", "weekdays"]), HOURS, MINUTES),
    st.builds(
        CronPattern,
        st.just("weekly"),
        HOURS,
        MINUTES,
        st.sets(st.integers(0, 6), min_size=1).map(lambda days: tuple(sorted(days))),
    ),
    st.builds(CronPattern, st.just("monthly"), HOURS, MINUTES, day=st.integers(1, 31)),
)


@given(PATTERNS)
def test_a_pattern_is_found_again_in_its_expression(pattern):
    assert pattern_of(pattern.expression) == pattern


@pytest.mark.parametrize(
    "expression", ["", "* * * * *", "0 6 * 1 *", "*/5 * * * *", "0 6 1 * 1", "0 24 * * *", "60 * * * *", "0 6 * * MON"]
)
def test_other_expressions_have_no_pattern(expression):
    assert pattern_of(expression) is None


@pytest.mark.parametrize(
    ("expression", "described"),
    [
        ("30 6 * * 1-5", "every weekday at 06:30 (Europe/Berlin)"),
        ("0 6 * * 0,1,6", "every Sunday, Monday and Saturday at 06:00 (Europe/Berlin)"),
        ("0 6 * * MON", "at 06:00 on Monday (Europe/Berlin)"),
        ("*/15 * * * *", "every 15th minute of every hour (Europe/Berlin)"),
    ],
)
def test_times_are_described_in_plain_words(expression, described):
    schedule = CronSchedule(kind="cron", expression=expression, timezone="Europe/Berlin")
    assert describe_schedule(schedule) == described


def test_a_jitter_is_described():
    schedule = EverySchedule(kind="every", interval="1h", jitter="1m")
    assert describe_schedule(schedule) == "every hour, up to 1 minute later"


@pytest.mark.parametrize(
    ("interval", "described"),
    [("1h", "every hour"), ("90m", "every 90 minutes"), ("14d", "every 2 weeks"), ("61s", "every 61 seconds")],
)
def test_intervals_are_described_in_plain_words(interval, described):
    assert describe_schedule(EverySchedule(kind="every", interval=interval)) == described
