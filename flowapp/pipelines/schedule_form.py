"""The form of a schedule: common times in plain words, intervals, and cron expressions for all others."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, cast

from django.http import QueryDict

from flowapp.pipelines.drafts import DraftView
from ir.diagnostics import Diagnostic
from ir.schedule_patterns import DAYS, CronPattern, Frequency, describe_schedule, pattern_of
from ir.timezones import list_timezones

FREQUENCIES = {
    "": "Manually only",
    "hourly": "Every hour",
    "daily": "Every day",
    "weekdays": "Every weekday, Monday to Friday",
    "weekly": "On days of the week",
    "monthly": "On a day of the month",
    "every": "At an interval",
    "cron": "Cron expression",
}
"""The labels by name. All but the first and the last two are cron expressions of a common form."""
CATCH_UPS = {
    "latest": "Run once for all missed times",
    "skip": "Do not run; wait for the next time",
    "all": "Run for each missed time",
}
"""What happens to missed times."""
PATTERNS = tuple(FREQUENCIES)[1:-2]
WITH_TIME = ("daily", "weekdays", "weekly", "monthly")
USUAL = CronPattern("daily", hour=6, days=(1,))
"""The initial times of the form."""
USUAL_INTERVAL, UTC = "15m", "UTC"
_TIME = re.compile(r"([01]?\d|2[0-3]):([0-5]\d)(?::\d\d)?")


@dataclass(frozen=True)
class ScheduleForm:
    """The values of the form. `words` describes the schedule if it is valid."""

    frequency: str
    pattern: CronPattern
    interval: str
    expression: str
    timezone: str
    jitter: str = ""
    catch_up: str = "latest"
    words: str = ""
    diagnostics: list[Diagnostic] = field(default_factory=list)

    frequencies, catch_ups = FREQUENCIES, CATCH_UPS
    weekdays = (*tuple(enumerate(DAYS))[1:], (0, DAYS[0]))

    @property
    def has_time(self) -> bool:
        return self.frequency in WITH_TIME

    @property
    def timezones(self) -> list[str]:
        return list_timezones()


def schedule_form(view: DraftView, chosen: str = "") -> ScheduleForm:
    """Return the form of the draft's schedule. `chosen` is the frequency that the user has just selected; `cron` always
    shows the expression."""
    document = view.last_good
    value = document.get("schedule") if isinstance(document, dict) else None
    schedule = value if isinstance(value, dict) else {}
    checked = view.checked.pipeline
    words = describe_schedule(checked.schedule) if checked and checked.schedule else ""
    expression = str(schedule.get("expression", USUAL.expression))
    pattern = pattern_of(expression)
    return ScheduleForm(
        "cron" if chosen == "cron" and pattern else _frequency(schedule, pattern),
        pattern or USUAL,
        str(schedule.get("interval", USUAL_INTERVAL)),
        expression,
        str(schedule.get("timezone", UTC)),
        str(schedule.get("jitter", "")),
        str(schedule.get("catchUp", "latest")),
        words,
        [d for d in view.diagnostics if d.path[:1] == ("schedule",)],
    )


def _frequency(schedule: Mapping[str, Any], pattern: CronPattern | None) -> str:
    if schedule.get("kind") == "cron":
        return pattern.frequency if pattern else "cron"
    return "every" if schedule.get("kind") == "every" else ""


def read_schedule(data: QueryDict) -> dict[str, Any] | None:
    """Return the schedule that the user entered; None if the pipeline only runs manually."""
    frequency = data.get("frequency", "")
    if frequency == "every":
        return {"kind": "every", "interval": data.get("interval", "").strip() or USUAL_INTERVAL, **_options(data)}
    if frequency not in FREQUENCIES or not frequency:
        return None
    expression = data.get("expression", "").strip() or USUAL.expression
    if frequency in PATTERNS:
        expression = _pattern(cast(Frequency, frequency), data).expression
    zone = data.get("timezone", "").strip() or UTC
    return {"kind": "cron", "expression": expression, "timezone": zone, **_options(data)}


def _options(data: QueryDict) -> dict[str, str]:
    """Return the entered options besides the times, without those that equal their default."""
    given = {"jitter": data.get("jitter", "").strip(), "catchUp": data.get("catch_up", "latest")}
    return {name: value for name, value in given.items() if value not in ("", "latest")}


def _pattern(frequency: Frequency, data: QueryDict) -> CronPattern:
    time = _TIME.fullmatch(data.get("time", ""))
    hour, minute = (int(time[1]), int(time[2])) if time else (USUAL.hour, USUAL.minute)
    if frequency == "hourly":
        minute = _between(data.get("minute", ""), 0, 59, 0)
    days = sorted({_between(day, 0, 6, 1) for day in data.getlist("day_of_week")})
    return CronPattern(frequency, hour, minute, tuple(days) or USUAL.days, _between(data.get("day", ""), 1, 31, 1))


def _between(text: str, least: int, most: int, default: int) -> int:
    """Return the number in a text, limited to the bounds."""
    return min(max(int(text), least), most) if text.isdecimal() and len(text) < 5 else default
