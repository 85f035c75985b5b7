"""Compute the run that a due schedule queues, and its next time. Queries no database."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta

from ir.schedules import Schedule, next_fire

MOST_COUNTED = 100
LATE = timedelta(minutes=2)
"""A time that is handled later than this counts as missed."""


@dataclass(frozen=True, slots=True)
class DueTimes:
    """`at` is the time for which a run is queued, None for no run. `next_at` is the next time of the schedule; with
    `catchUp: all` it may be in the past. `count` is the number of due times, up to a limit."""

    at: datetime | None
    next_at: datetime
    count: int
    is_late: bool

    @property
    def counted(self) -> str:
        return f"{self.count} times" if self.count < MOST_COUNTED else f"more than {MOST_COUNTED} times"


def due_times(schedule: Schedule, due_at: datetime, now: datetime, key: str, is_waiting: bool) -> DueTimes:
    """Return the times of a schedule that is due since `due_at`. While a run of it `is_waiting`, that run covers the
    times of all schedules except those that need a run for each time."""
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
    """Return the newest due time if it is not late; None if all times are missed."""
    if now - due_at < LATE:
        return due_at
    newest = next_fire(schedule, now - LATE, key)
    return newest if newest <= now else None
