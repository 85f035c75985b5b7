"""Schedules: when a pipeline runs automatically, and its next run times."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from functools import lru_cache
from typing import Annotated, ClassVar, Literal

from cronsim import CronSim, CronSimError
from pydantic import Field

from ir.annotations import ByTag
from ir.base import Spec
from ir.diagnostics import Diagnostic, diagnose, shown
from ir.durations import parse_duration
from ir.pointers import Pointer
from ir.timezones import check_timezone, timezone

SHORTEST = timedelta(minutes=1)
LONGEST_JITTER = timedelta(days=1)
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_LONGEST_EXPRESSION = 200

CatchUp = Literal["latest", "skip", "all"]
Jitter = Annotated[
    str | None,
    Field(
        description="Moves every run later by a fixed time below this one. The time differs between pipelines, so that "
        "those with the same schedule do not start at once.",
        examples=["10m"],
    ),
]
CATCH_UP = Field(
    title="Missed times",
    description="What happens to times at which no scheduler ran: latest runs once for all of them, skip waits for "
    "the next time, all runs once for each, in order.",
)


class CronSchedule(Spec):
    """Runs at the times of a cron expression."""

    kind: Literal["cron"]
    expression: str = Field(
        title="Cron expression",
        description="Five fields: minute, hour, day of the month, month, day of the week.",
        examples=["0 6 * * 1-5"],
    )
    timezone: str = Field(
        "UTC",
        title="Time zone",
        description="The IANA time zone in which the expression is read.",
        examples=["Europe/Berlin"],
    )
    jitter: Jitter = None
    catch_up: Annotated[CatchUp, CATCH_UP] = "latest"

    def check(self, at: Pointer) -> Iterator[Diagnostic]:
        yield from check_timezone(self.timezone, at / "timezone")
        yield from _check_jitter(self.jitter, LONGEST_JITTER, at / "jitter")
        try:
            next(_cron(self.expression, _EPOCH))
        except ValueError as error:
            message = f"{shown(self.expression)} is not a cron expression: {error}."
            yield diagnose("schedule.cron_malformed", at / "expression", message)

    def next_fire(self, after: datetime) -> datetime:
        """Return the next time in the way of Debian's cron: a time that a clock change skips fires right after it, and
        a repeated time fires once. Expressions whose minute or hour begins with `*` fire in both copies of a repeated
        hour."""
        return _next_cron(self.expression, self.timezone, after)


class EverySchedule(Spec):
    """Runs at a fixed interval, counted from 1970-01-01T00:00Z. Clock changes do not move it."""

    kind: Literal["every"]
    interval: str = Field(
        description="The time between two runs: a number with s, m, h, d or w. The shortest is 1m.", examples=["15m"]
    )
    jitter: Jitter = None
    catch_up: Annotated[CatchUp, CATCH_UP] = "latest"
    timezone: ClassVar[str] = "UTC"

    def check(self, at: Pointer) -> Iterator[Diagnostic]:
        try:
            interval = parse_duration(self.interval)
        except ValueError as error:
            yield diagnose("duration.malformed", at / "interval", f"{error}.")
            yield from _check_jitter(self.jitter, LONGEST_JITTER, at / "jitter")
            return
        if interval < SHORTEST:
            yield diagnose("value.out_of_range", at / "interval", "The shortest interval of a schedule is 1m.")
        yield from _check_jitter(self.jitter, min(interval, LONGEST_JITTER), at / "jitter")

    def next_fire(self, after: datetime) -> datetime:
        interval = parse_duration(self.interval)
        return _EPOCH + ((after - _EPOCH) // interval + 1) * interval


Schedule = Annotated[CronSchedule | EverySchedule, ByTag("kind")]


def next_fire(schedule: Schedule, after: datetime, key: str) -> datetime:
    """Return the first time in UTC at which the schedule fires after `after`, which must be aware. A parsed schedule
    always has one. `key` identifies the pipeline: its jitter depends on it."""
    if after.tzinfo is None:
        raise ValueError("`after` needs a time zone")
    offset = jitter_of(schedule, key)
    return schedule.next_fire(after - offset) + offset


def jitter_of(schedule: Schedule, key: str) -> timedelta:
    """Return the delay of a pipeline after its schedule: a constant number of whole seconds."""
    if schedule.jitter is None:
        return timedelta()
    number = int.from_bytes(hashlib.sha256(key.encode()).digest()[:8])
    seconds = int(parse_duration(schedule.jitter).total_seconds())
    return timedelta(seconds=number * seconds >> 64)


def _check_jitter(jitter: str | None, longest: timedelta, at: Pointer) -> Iterator[Diagnostic]:
    if jitter is None:
        return
    try:
        too_long = parse_duration(jitter) > longest
    except ValueError as error:
        yield diagnose("duration.malformed", at, f"{error}.")
        return
    if too_long:
        yield diagnose("value.out_of_range", at, "The jitter is longer than the interval, or than 1d.")


@lru_cache(maxsize=4096)
def _next_cron(expression: str, zone: str, after: datetime) -> datetime:
    """Return the next time. The result is cached, because many pipelines have the same times and a scheduler asks
    repeatedly."""
    times = _cron(expression, after.astimezone(timezone(zone)))
    # Within the second copy of a repeated hour, CronSim first returns a time of the first copy, which is past.
    return next(time for time in (local.astimezone(UTC) for local in times) if time > after)


def _cron(expression: str, after: datetime) -> CronSim:
    """Return the times of a cron expression after a time. Raises ValueError with the error in the expression."""
    if len(expression) > _LONGEST_EXPRESSION:
        raise ValueError(f"it is longer than {_LONGEST_EXPRESSION} characters")
    # CronSim would parse a sixth field as seconds.
    if len(fields := expression.split()) != 5:
        raise ValueError(f"it has {len(fields)} fields, not 5")
    try:
        return CronSim(expression, after)
    except CronSimError as error:
        raise ValueError(str(error).lower()) from error
