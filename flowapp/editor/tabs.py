"""What the editor's tabs show beside the document: runs, violations and the times to come."""

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
    """The newest runs with what their targets counted."""
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
    """The rules of the newest run that counted any, by name, the most violated first."""
    counted = RuleCount.objects.filter(run__pipeline=pipeline, run__kind__in=COUNTED)
    newest = counted.order_by("-run__queued_at").values("run")[:1]
    found = RuleCount.objects.filter(run=newest).select_related("run").order_by("-violations", "position")
    return [(rule_name(one.rule, one.type, one.field), one) for one in found]


def next_fires(view: DraftView) -> list[str]:
    """The next times of the schedule in the draft, in its time zone. None where nothing will start: without a schedule,
    with a faulty one, and while it is paused or the pipeline is disabled."""
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
