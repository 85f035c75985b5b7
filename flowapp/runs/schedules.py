"""Start scheduled runs. The process that moves a pipeline's next time forward owns that start, so it happens once."""

from __future__ import annotations

import logging
from datetime import datetime, timedelta

from django.db import transaction

from flowapp.alerts.services import raise_alert, resolve_by
from flowapp.pipelines.documents import read_schedule
from flowapp.pipelines.models import Pipeline
from flowapp.runs.models import CLAIMABLE, Run, Trigger
from flowapp.runs.services import queue_run
from flowapp.zones import in_zone
from ir.errors import FlowError
from ir.schedules import Schedule, next_fire

logger = logging.getLogger(__name__)
AT_ONCE = 500
MOST_COUNTED = 1000
LATE = timedelta(minutes=2)


def fire_due(now: datetime) -> int:
    """Queue one run for each pipeline that is due; return how many starts this call owned."""
    due = Pipeline.objects.filter(enabled=True, paused=False, next_fire_at__lte=now, schedule__isnull=False)
    return sum(_fire(pipeline, now) for pipeline in due.order_by("next_fire_at")[:AT_ONCE])


def _fire(pipeline: Pipeline, now: datetime) -> bool:
    """Queue a run for a due schedule. One run covers all missed times."""
    due_at = pipeline.next_fire_at
    if due_at is None:
        return False
    try:
        schedule = read_schedule(pipeline.schedule)
    except ValueError:
        _switch_off(pipeline)
        return False
    with transaction.atomic():
        mine = Pipeline.objects.filter(pk=pipeline.pk, enabled=True, paused=False, next_fire_at=due_at)
        if not mine.update(next_fire_at=next_fire(schedule, now), fired_at=due_at):
            return False
        queued = _queue(pipeline)
    if queued:
        _alert_if_late(pipeline, schedule, due_at, now)
    return True


def _switch_off(pipeline: Pipeline) -> None:
    """Disable a schedule that is no longer readable, such as one in a removed time zone, so that it does not block
    others."""
    Pipeline.objects.filter(pk=pipeline.pk, next_fire_at=pipeline.next_fire_at).update(next_fire_at=None)
    raise_alert(
        "schedule.broken",
        "error",
        f"The schedule of {pipeline} cannot be read.",
        "Save the pipeline again.",
        pipeline=pipeline,
    )


def _queue(pipeline: Pipeline) -> bool:
    """Queue a run, unless a run of the same schedule is still waiting; that run covers this start too."""
    if Run.objects.filter(pipeline=pipeline, trigger=Trigger.SCHEDULE, state__in=CLAIMABLE).exists():
        raise_alert(
            "schedule.missed",
            "warning",
            f"{pipeline} was due again while its last scheduled run was still waiting.",
            "Run it less often, or find out why it waits.",
            pipeline=pipeline,
        )
        return False
    try:
        queue_run(pipeline, Trigger.SCHEDULE)
    except FlowError as error:
        raise_alert(
            "schedule.broken",
            "error",
            f"{pipeline} could not be queued: {error.message}",
            error.hint,
            pipeline=pipeline,
        )
        return False
    return True


def _alert_if_late(pipeline: Pipeline, schedule: Schedule, due_at: datetime, now: datetime) -> None:
    missed = count_fires(schedule, due_at, now)
    if missed == 0 and now - due_at < LATE:
        resolve_by("schedule.on_time", pipeline_id=pipeline.pk)
        return
    times = f"{missed + 1} times" if missed < MOST_COUNTED else f"more than {MOST_COUNTED} times"
    raise_alert(
        "schedule.missed",
        "warning",
        f"{pipeline} was due {times} since {in_zone(due_at, schedule.timezone)} while no "
        "scheduler ran. One run catches up.",
        "Find out why no scheduler was running.",
        pipeline=pipeline,
    )


def count_fires(schedule: Schedule, after: datetime, until: datetime) -> int:
    """Count the scheduled times between two moments, up to a limit."""
    count = 0
    while count < MOST_COUNTED and (after := next_fire(schedule, after)) <= until:
        count += 1
    return count
