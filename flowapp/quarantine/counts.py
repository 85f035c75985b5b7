"""Counts of violations from the control database, available while a warehouse is down."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date, timedelta
from typing import Any

from django.db.models import F, Max, Sum
from django.utils import timezone

from flowapp.accounts.models import Workspace
from flowapp.pipelines.models import Pipeline
from flowapp.quarantine.models import GroupKind, Span, ViolationGroup, ViolationTotal
from flowapp.quarantine.totals import spans_between

GROUPS = {
    "pipeline": ("pipeline",),
    "rule": ("pipeline", "node", "rule", "type", "field", "on_fail"),
    "field": ("pipeline", "field"),
    "day": ("day",),
}
"""The groupings of counts, with the columns that identify a group."""
SUMS = ("violations", "runs", "newest")
MOST_GROUPS = 100
MOST_DAYS = 90


def count_violations(
    workspace: Workspace, by: str, *, days: int, pipeline: Pipeline | None = None
) -> list[dict[str, Any]]:
    """Return `violations`, the number of `runs` and the `newest` run of each group: the `MOST_GROUPS` groups with the
    most violations, or every day, newest first.

    A row counts once for each rule that it violated, in every run that was queued in the last `days`, today included.
    Raises KeyError for an unknown grouping."""
    columns = GROUPS[by]
    last = timezone.localdate()
    first = last - timedelta(days=days - 1)
    if by == "day":
        return _count_by_day(workspace, first, last, pipeline)
    groups = ViolationGroup.objects.filter(
        spans_between(first, last, of="totals__"), totals__workspace=workspace, totals__kind=by
    )
    if pipeline:
        groups = groups.filter(pipeline=pipeline)
    summed = groups.annotate(
        violations=Sum("totals__violations"), runs=Sum("totals__runs"), newest=Max("totals__newest")
    )
    of_group = ("pipeline__slug", *columns[1:])
    rows = summed.order_by("-violations", *of_group).values_list(*of_group, *SUMS)
    return [dict(zip((*columns, *SUMS), row, strict=True)) for row in rows[:MOST_GROUPS]]


def _count_by_day(workspace: Workspace, first: date, last: date, pipeline: Pipeline | None) -> list[dict[str, Any]]:
    """Return the counts of each day, newest first."""
    totals = ViolationTotal.objects.filter(
        workspace=workspace, kind=GroupKind.PIPELINE, span=Span.DAY, starts__gte=first, starts__lte=last
    )
    if pipeline:
        totals = totals.filter(group__pipeline=pipeline)
    days = totals.values(day=F("starts")).annotate(
        sum_of_violations=Sum("violations"), sum_of_runs=Sum("runs"), newest_of_all=Max("newest")
    )
    rows = days.order_by("-day").values_list("day", "sum_of_violations", "sum_of_runs", "newest_of_all")
    return [dict(zip(("day", *SUMS), row, strict=True)) for row in rows]


@dataclass(frozen=True, slots=True)
class Day:
    """One day of the trend. `height` is a percentage of the worst day."""

    day: date
    violations: int
    runs: int
    height: float

    @property
    def top(self) -> str:
        return f"{100 - self.height:.1f}"


def present_trend(counted: list[dict[str, Any]], days: int) -> list[Day]:
    """Return every day up to today, days without violations included; only the last days that fit."""
    by_day = {group["day"]: group for group in counted}
    worst = max((group["violations"] for group in counted), default=0) or 1
    today = timezone.localdate()
    shown = [today - timedelta(days=back) for back in reversed(range(min(days, MOST_DAYS)))]
    return [
        Day(day, found["violations"], found["runs"], 100 * found["violations"] / worst)
        if (found := by_day.get(day))
        else Day(day, 0, 0, 0)
        for day in shown
    ]
