"""How many rows violated what: from the control database, so that it can be told while a warehouse is down."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

from django.db.models import Count, Max, QuerySet, Sum
from django.utils import timezone

from flowapp.accounts.models import Workspace
from flowapp.pipelines.models import Pipeline
from flowapp.runs.models import COUNTED, RuleCount

GROUPS = {
    "pipeline": ("run__pipeline__ident",),
    "rule": ("run__pipeline__ident", "node", "rule", "type", "field", "on_fail"),
    "field": ("run__pipeline__ident", "field"),
}
"""What counts can be told by, and the columns that make a group."""
MOST_GROUPS = 200


def count_violations(
    workspace: Workspace, by: str, *, days: int, pipeline: Pipeline | None = None
) -> list[dict[str, Any]]:
    """`violations`, the number of `runs` and the `newest` of them for each group, most first, at most `MOST_GROUPS`.

    A row counts once for every rule it violated, in every run that read it in the last `days`. Raises KeyError for a
    group that there is not.
    """
    columns = GROUPS[by]
    groups = _violated(workspace, days, pipeline).values(*columns)
    summed = groups.annotate(
        violations=Sum("violations"), runs=Count("run", distinct=True), newest=Max("run__queued_at")
    )
    return [
        {"pipeline": group.pop("run__pipeline__ident"), **group}
        for group in summed.order_by("-violations", *columns)[:MOST_GROUPS]
    ]


def _violated(workspace: Workspace, days: int, pipeline: Pipeline | None) -> QuerySet[RuleCount]:
    since = timezone.now() - timedelta(days=days)
    found = RuleCount.objects.filter(
        workspace=workspace, run__workspace=workspace, run__purpose__in=COUNTED, run__queued_at__gte=since,
        violations__gt=0,
    )  # fmt: skip
    return found.filter(run__pipeline=pipeline) if pipeline else found
