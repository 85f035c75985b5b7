"""Counts of violations from the control database, available while a warehouse is down."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date, timedelta
from typing import Any

from django.db.models import Count, Max, QuerySet, Sum
from django.db.models.functions import TruncDate
from django.utils import timezone

from flowapp.accounts.models import Workspace
from flowapp.pipelines.models import Pipeline
from flowapp.runs.models import RuleCount
from flowapp.runs.run_kinds import LOADS

GROUPS = {
    "pipeline": ("run__pipeline__slug",),
    "rule": ("run__pipeline__slug", "node", "rule", "type", "field", "on_fail"),
    "field": ("run__pipeline__slug", "field"),
    "day": ("day",),
}
"""What counts can be told by, and the columns that make a group."""
MOST_GROUPS = 200
MOST_DAYS = 90


def count_violations(
    workspace: Workspace, by: str, *, days: int, pipeline: Pipeline | None = None
) -> list[dict[str, Any]]:
    """`violations`, the number of `runs` and the `newest` of them for each group, most first, at most `MOST_GROUPS`.

    A row counts once for every rule it violated, in every run that read it in the last `days`. Raises KeyError for a
    group that there is not.
    """
    columns = GROUPS[by]
    found = _violated(workspace, days, pipeline).annotate(day=TruncDate("run__queued_at"))
    groups = found.values(*columns)
    summed = groups.annotate(
        violations=Sum("violations"), runs=Count("run", distinct=True), newest=Max("run__queued_at")
    )
    order = ("-day",) if by == "day" else ("-violations", *columns)
    return [_named(group) for group in summed.order_by(*order)[:MOST_GROUPS]]


def _named(group: dict[str, Any]) -> dict[str, Any]:
    return {"pipeline" if name == "run__pipeline__slug" else name: value for name, value in group.items()}


def _violated(workspace: Workspace, days: int, pipeline: Pipeline | None) -> QuerySet[RuleCount]:
    since = timezone.now() - timedelta(days=days)
    found = RuleCount.objects.filter(
        workspace=workspace,
        run__workspace=workspace,
        run__kind__in=LOADS,
        run__queued_at__gte=since,
        violations__gt=0,
    )
    return found.filter(run__pipeline=pipeline) if pipeline else found


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
