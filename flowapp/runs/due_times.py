"""Which runs a due schedule asks for, and when it is due next. Asks no database."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta

from ir.schedules import Schedule, next_fire

MOST_COUNTED = 100
LATE = timedelta(minutes=2)
"""A time that is handled later than this was missed."""


@dataclass(frozen=True, slots=True)
class DueTimes:
    """`at` is the time to queue a run for, None for no run. `next_at` is when the schedule is due next: with
    `catchUp: all` it may have passed as well. `count` is the number of times that were due, up to a limit."""

    at: datetime | None
    next_at: datetime
    count: int
    is_late: bool

    @property
    def counted(self) -> str:
        return f"{self.count} times" if self.count < MOST_COUNTED else f"more than {MOST_COUNTED} times"


def due_times(schedule: Schedule, due_at: datetime, now: datetime, key: str, is_waiting: bool) -> DueTimes:
    """Return what a schedule that is due since `due_at` asks for. While a run of it `is_waiting`, that run covers the
    times of all schedules but those that want a run for each."""
    count, following = 1, next_fire(schedule, due_at, key)
    first_following = following
    while following <= now and count < MOST_COUNTED:
        count, following = count + 1, next_fire(schedule, following, key)
    is_late = count > 1 or now - due_at >= LATE
    if schedule.catch_up == "all":
        return DueTimes(due_at, first_following, count, is_late)
    if following <= now:
        following = next_fire(schedule, now, key)
    at = _newest_in_time(schedule, due_at, now, key) if schedule.catch_up == "skip" else due_at
    return DueTimes(None if is_waiting else at, following, count, is_late)


def _newest_in_time(schedule: Schedule, due_at: datetime, now: datetime, key: str) -> datetime | None:
    """Return a time that has just come; None if all are missed."""
    if now - due_at < LATE:
        return due_at
    newest = next_fire(schedule, now - LATE, key)
    return newest if newest <= now else None
