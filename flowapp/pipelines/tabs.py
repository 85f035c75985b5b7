"""What the editor's tabs show beside the document: runs, violations and the times to come."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime
from itertools import islice

from django.db.models import F, Q, Sum
from django.utils import timezone

from flowapp.pipelines.drafts import DraftView
from flowapp.pipelines.models import Pipeline
from flowapp.runs.models import COUNTED, RuleCount, Run
from ir.schedules import Schedule, next_fire

NEWEST_RUNS, FIRES = 50, 5


def runs_of(pipeline: Pipeline) -> list[Run]:
    """The newest runs with what their targets counted."""
    runs = Run.counted.filter(pipeline=pipeline).select_related("version").defer("version__document")
    counted = runs.annotate(
        loaded=Sum("nodes__rows_loaded", filter=Q(nodes__kind="target")),
        rejected=Sum("nodes__rows_rejected", filter=Q(nodes__kind="target")),
        at=F("queued_at"),
    )
    return list(counted.order_by("-queued_at", "id")[:NEWEST_RUNS])


def violations_of(pipeline: Pipeline) -> list[RuleCount]:
    """The rules of the newest run that counted any, the most violated first."""
    counted = RuleCount.objects.filter(run__pipeline=pipeline, run__purpose__in=COUNTED)
    newest = counted.order_by("-run__queued_at").values("run")[:1]
    return list(RuleCount.objects.filter(run=newest).select_related("run").order_by("-violations", "position"))


def next_fires(view: DraftView) -> list[datetime]:
    """The next times of the schedule in the draft; none where it has none or a faulty one."""
    pipeline = view.checked.pipeline
    schedule = pipeline.schedule if pipeline else None
    return list(islice(_fires(schedule, timezone.now()), FIRES)) if schedule else []


def _fires(schedule: Schedule, after: datetime) -> Iterator[datetime]:
    while True:
        after = next_fire(schedule, after)
        yield after
