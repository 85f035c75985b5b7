"""Data of the editor's tabs: runs, violations and the next scheduled times."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime
from itertools import islice
from typing import TYPE_CHECKING, TypedDict, cast

from django.db.models import F
from django.utils import timezone

from flowapp.pipelines.drafts import DraftView
from flowapp.pipelines.models import Pipeline
from flowapp.runs.models import COUNTED, RuleCount, Run
from flowapp.runs.rule_names import rule_name
from flowapp.runs.run_kinds import run_kind_of
from flowapp.runs.selectors import sum_loads
from flowapp.zones import in_zone
from ir.schedules import Schedule, next_fire

if TYPE_CHECKING:
    from django_stubs_ext import WithAnnotations

NEWEST_RUNS, FIRES = 50, 3


if TYPE_CHECKING:

    class _Counted(TypedDict):
        at: datetime
        loaded: int | None
        rejected: int | None
        tag: str

    CountedRun = WithAnnotations[Run, _Counted]


def runs_of(pipeline: Pipeline) -> list[CountedRun]:
    """Return the newest runs with the counts of their targets."""
    runs = Run.counted.filter(pipeline=pipeline).select_related("version").defer("version__document")
    found = runs.annotate(at=F("queued_at")).order_by("-queued_at", "id")[:NEWEST_RUNS]
    newest = cast("list[CountedRun]", list(found))
    loads = sum_loads(newest)
    for run in newest:
        counts = loads.get(run.pk, {})
        run.loaded, run.rejected = counts.get("loaded"), counts.get("rejected")
        run.tag = run_kind_of(run).tag
    return newest


def violations_of(pipeline: Pipeline) -> list[tuple[str, RuleCount]]:
    """Return the rule counts of the newest run that has any, by name, the most violated rule first."""
    counted = RuleCount.objects.filter(run__pipeline=pipeline, run__kind__in=COUNTED)
    newest = counted.order_by("-run__queued_at").values("run")[:1]
    found = RuleCount.objects.filter(run=newest).select_related("run").order_by("-violations", "position")
    return [(rule_name(one.rule, one.type, one.field), one) for one in found]


def next_fires(view: DraftView) -> list[str]:
    """Return the next times of the draft's schedule in its time zone. Empty without a valid schedule, while the
    schedule is paused, and while the pipeline is disabled."""
    document, pipeline = view.checked.pipeline, view.draft.pipeline
    schedule = document.schedule if document and pipeline.enabled and not pipeline.paused else None
    if schedule is None:
        return []
    fires = _fires(schedule, timezone.now(), pipeline.schedule_key)
    return [in_zone(fire, schedule.timezone) for fire in islice(fires, FIRES)]


def _fires(schedule: Schedule, after: datetime, key: str) -> Iterator[datetime]:
    while True:
        after = next_fire(schedule, after, key)
        yield after
