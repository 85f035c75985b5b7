"""Common forms of cron expressions, such as "every weekday at 06:30", and descriptions of schedules."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Literal

from cronsim import CronSim, CronSimError

from ir.durations import parse_duration
from ir.schedules import CronSchedule, Schedule
from ir.words import counted

Frequency = Literal["hourly", "daily", "weekdays", "weekly", "monthly"]
DAYS = ("Sunday", "Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday")
"""By their number in cron expressions."""
WEEKDAYS = "1-5"
_NUMBER = re.compile(r"\d{1,2}")
_UNITS = {
    "week": timedelta(weeks=1),
    "day": timedelta(days=1),
    "hour": timedelta(hours=1),
    "minute": timedelta(minutes=1),
    "second": timedelta(seconds=1),
}
_SOME_DAY = datetime(2000, 1, 1)


@dataclass(frozen=True, slots=True)
class CronPattern:
    """A cron expression of a common form. `days` are days of the week, `day` is the day of the month."""

    frequency: Frequency
    hour: int = 0
    minute: int = 0
    days: tuple[int, ...] = ()
    day: int = 1

    @property
    def time(self) -> str:
        return f"{self.hour:02}:{self.minute:02}"

    @property
    def expression(self) -> str:
        if self.frequency == "hourly":
            return f"{self.minute} * * * *"
        weekdays = {"weekdays": WEEKDAYS, "weekly": ",".join(map(str, self.days))}.get(self.frequency, "*")
        day = str(self.day) if self.frequency == "monthly" else "*"
        return f"{self.minute} {self.hour} {day} * {weekdays}"


def pattern_of(expression: str) -> CronPattern | None:
    """Return the pattern of an expression; None if it has no common form."""
    fields = expression.split()
    if len(fields) != 5 or fields[3] != "*":
        return None
    minute, hour, day, weekdays = _number(fields[0], 59), _number(fields[1], 23), fields[2], fields[4]
    if minute is None:
        return None
    if fields[1:] == ["*", "*", "*", "*"]:
        return CronPattern("hourly", minute=minute)
    if hour is None:
        return None
    return _of_day(hour, minute, weekdays) if day == "*" else _of_month(hour, minute, day, weekdays)


def _of_day(hour: int, minute: int, weekdays: str) -> CronPattern | None:
    if weekdays == "*":
        return CronPattern("daily", hour, minute)
    if weekdays == WEEKDAYS:
        return CronPattern("weekdays", hour, minute)
    days = [_number(part, 7) for part in weekdays.split(",")]
    known = sorted({day % 7 for day in days if day is not None})
    return CronPattern("weekly", hour, minute, tuple(known)) if None not in days else None


def _of_month(hour: int, minute: int, day: str, weekdays: str) -> CronPattern | None:
    number = _number(day, 31)
    return CronPattern("monthly", hour, minute, day=number) if number and weekdays == "*" else None


def _number(text: str, most: int) -> int | None:
    return int(text) if _NUMBER.fullmatch(text) and int(text) <= most else None


def describe_schedule(schedule: Schedule) -> str:
    """Return the times of a valid schedule as text: "every weekday at 06:30 (Europe/Berlin)"."""
    if isinstance(schedule, CronSchedule):
        words = f"{_describe_expression(schedule.expression)} ({schedule.timezone})"
    else:
        words = f"every {_describe_duration(parse_duration(schedule.interval))}"
    if schedule.jitter is None:
        return words
    return f"{words}, up to {_describe_duration(parse_duration(schedule.jitter), one='1 ')} later"


def _describe_expression(expression: str) -> str:
    pattern = pattern_of(expression)
    if pattern is None:
        return _explain(expression)
    match pattern.frequency:
        case "hourly":
            return f"every hour at minute {pattern.minute}"
        case "daily":
            return f"every day at {pattern.time}"
        case "weekdays":
            return f"every weekday at {pattern.time}"
        case "weekly":
            return f"every {_listed(DAYS[day] for day in pattern.days)} at {pattern.time}"
        case "monthly":
            return f"on day {pattern.day} of every month at {pattern.time}"


def _explain(expression: str) -> str:
    try:
        words = str(CronSim(expression, _SOME_DAY).explain())
    except CronSimError:
        return expression
    return words[0].lower() + words[1:]


def _describe_duration(duration: timedelta, one: str = "") -> str:
    name, unit = next((name, unit) for name, unit in _UNITS.items() if duration % unit == timedelta())
    number = duration // unit
    return f"{one}{name}" if number == 1 else counted(number, name)


def _listed(words: Iterable[str]) -> str:
    *first, last = words
    return f"{', '.join(first)} and {last}" if first else last
