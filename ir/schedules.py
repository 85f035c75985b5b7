"""Schedules: when a pipeline runs automatically, and its next run times."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
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
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_LONGEST_EXPRESSION = 200


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

    def check(self, at: Pointer) -> Iterator[Diagnostic]:
        yield from check_timezone(self.timezone, at / "timezone")
        try:
            next(_cron(self.expression, _EPOCH))
        except ValueError as error:
            message = f"{shown(self.expression)} is not a cron expression: {error}."
            yield diagnose("schedule.cron_malformed", at / "expression", message)

    def next_fire(self, after: datetime) -> datetime:
        """As Debian's cron: a time that a clock change skips fires right after it, one that is repeated fires once.

        Expressions whose minute or hour begins with `*` go on through both copies of a repeated hour.
        """
        times = _cron(self.expression, after.astimezone(timezone(self.timezone)))
        # Within the second copy of a repeated hour CronSim first gives a time of the first copy, which is past.
        return next(time for time in (local.astimezone(UTC) for local in times) if time > after)


class EverySchedule(Spec):
    """Runs at a fixed interval, counted from 1970-01-01T00:00Z. Clock changes do not move it."""

    kind: Literal["every"]
    interval: str = Field(
        description="The time between two runs: a number with s, m, h, d or w. The shortest is 1m.", examples=["15m"]
    )
    timezone: ClassVar[str] = "UTC"

    def check(self, at: Pointer) -> Iterator[Diagnostic]:
        try:
            too_short = parse_duration(self.interval) < SHORTEST
        except ValueError as error:
            yield diagnose("duration.malformed", at / "interval", f"{error}.")
            return
        if too_short:
            yield diagnose("value.out_of_range", at / "interval", "The shortest interval of a schedule is 1m.")

    def next_fire(self, after: datetime) -> datetime:
        interval = parse_duration(self.interval)
        return _EPOCH + ((after - _EPOCH) // interval + 1) * interval


SCHEDULE_KINDS = (CronSchedule, EverySchedule)
Schedule = Annotated[CronSchedule | EverySchedule, ByTag("kind")]


def next_fire(schedule: Schedule, after: datetime) -> datetime:
    """The first time, in UTC, at which the schedule fires after `after`, which must be aware.

    A schedule that was parsed always has one.
    """
    if after.tzinfo is None:
        raise ValueError("`after` needs a time zone")
    return schedule.next_fire(after)


def _cron(expression: str, after: datetime) -> CronSim:
    """The times of a cron expression after a moment; raises ValueError, saying what is wrong."""
    if len(expression) > _LONGEST_EXPRESSION:
        raise ValueError(f"it is longer than {_LONGEST_EXPRESSION} characters")
    # CronSim would read a sixth field as seconds.
    if len(fields := expression.split()) != 5:
        raise ValueError(f"it has {len(fields)} fields, not 5")
    try:
        return CronSim(expression, after)
    except CronSimError as error:
        raise ValueError(str(error).lower()) from error
