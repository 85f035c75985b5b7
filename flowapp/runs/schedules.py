"""Start scheduled runs. Any number of schedulers may do this at once: each locks the pipelines that it handles, and
their runs and next times are written in one transaction, so that each time is handled once."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from itertools import chain
from uuid import UUID

from django.db import transaction
from django.db.models import Exists, OuterRef, Q, QuerySet

from flowapp.accounts.models import Workspace
from flowapp.alerts.models import Alert, AlertState
from flowapp.alerts.services import raise_alert, resolve_by
from flowapp.batches import IsAnyOf
from flowapp.pipelines.documents import read_schedule
from flowapp.pipelines.models import Pipeline
from flowapp.runs.due_times import DueTimes, due_times
from flowapp.runs.events import schedules_due
from flowapp.runs.models import CLAIMABLE, COUNTED, Run, State, Trigger
from flowapp.runs.scheduled_rows import Moved, move_on
from flowapp.zones import in_zone
from ir.schedules import CatchUp, Schedule

AT_ONCE = 1000
MOST_AT_A_TICK = 20
"""The number of batches of `AT_ONCE`. Other periodic tasks run in between, and the next tick continues."""
ONE_BY_ONE = 20
"""If more pipelines of a workspace are late together, they raise a single alert, because the cause is not in the
pipelines."""
_CATCH_UPS: dict[CatchUp, str] = {
    "latest": "One run catches up.",
    "skip": "Missed times are skipped.",
    "all": "Each time gets its own run.",
}
Waiting = Collection[tuple[str, str]]
"""Trigger and state of a pipeline's runs that wait to start."""


def fire_due(now: datetime) -> int:
    """Queue the runs of schedules that are due; return how many pipelines this call handled."""
    handled = 0
    for _ in range(MOST_AT_A_TICK):
        batch = _fire_batch(now)
        handled += batch
        if batch < AT_ONCE:
            break
    return handled


@dataclass(frozen=True, slots=True)
class _Due:
    """A pipeline that is due since `at`, with the due times of its schedule."""

    pipeline: Pipeline
    at: datetime
    schedule: Schedule
    times: DueTimes
    is_waiting: bool

    @property
    def is_on_time(self) -> bool:
        return not self.times.is_late and not self.is_waiting

    @property
    def message(self) -> str:
        if self.is_waiting:
            return f"{self.pipeline} was due again while its last scheduled run was still waiting."
        since = in_zone(self.at, self.schedule.timezone)
        was = f"{self.pipeline} was due {self.times.counted} since {since} and was not started."
        return f"{was} {_CATCH_UPS[self.schedule.catch_up]}"


def _fire_batch(now: datetime) -> int:
    with transaction.atomic():
        # Skip pipelines that another scheduler handles.
        pipelines = list(_list_due(now).select_for_update(skip_locked=True, no_key=True)[:AT_ONCE])
        if pipelines:
            _fire(pipelines, now)
        return len(pipelines)


def _list_due(now: datetime) -> QuerySet[Pipeline]:
    """Return the pipelines that are due and may queue a run. A pipeline that needs a run for each time is excluded
    until its queued run has started."""
    due = Pipeline.objects.filter(enabled=True, paused=False, archived_at=None, next_fire_at__lte=now)
    queued = Run.objects.filter(pipeline=OuterRef("pk"), kind__in=COUNTED, state__in=CLAIMABLE)
    other = queued.filter(state=State.QUEUED).exclude(trigger=Trigger.SCHEDULE)
    scheduled = queued.filter(trigger=Trigger.SCHEDULE)
    # Without this test, the comparison of a missing key would be unknown, not false.
    wants_one = ~Q(schedule__has_key="catchUp") | Q(schedule__catchUp__in=("latest", "skip"))
    free = due.filter(~Exists(other)).filter(wants_one | ~Exists(scheduled)).filter(schedule__isnull=False)
    return free.order_by("next_fire_at", "pk").only("workspace", "slug", "schedule", "next_fire_at")


def _fire(pipelines: Sequence[Pipeline], now: datetime) -> None:
    # Query again under the locks, because runs may have changed since the query that found the pipelines.
    waiting = _list_waiting(pipelines)
    due, broken = [], []
    for pipeline in pipelines:
        try:
            found = _read(pipeline, now, waiting.get(pipeline.pk, ()))
        except ValueError:
            broken.append(pipeline)
            continue
        due += [found] if found is not None else []
    started = _list_started(due) | _list_handled(due)
    move_on([Moved(one.pipeline.pk, one.times.next_at, _run_at(one, started)) for one in due])
    move_on([Moved(pipeline.pk, None) for pipeline in broken])
    _report_broken(broken)
    late = _by_workspace(one for one in due if not one.is_on_time)
    _report_late(late)
    _resolve([one.pipeline for one in due if one.is_on_time], late.keys())


def _read(pipeline: Pipeline, now: datetime, waiting: Waiting) -> _Due | None:
    """Return what is due; None while no run may be queued. Raises ValueError if the schedule cannot be read any more,
    for example because of a removed time zone."""
    schedule, at = read_schedule(pipeline.schedule), pipeline.next_fire_at
    is_waiting = any(trigger == Trigger.SCHEDULE for trigger, _ in waiting)
    is_taken = any(state == State.QUEUED and trigger != Trigger.SCHEDULE for trigger, state in waiting)
    if at is None or is_taken or (is_waiting and schedule.catch_up == "all"):
        return None
    return _Due(pipeline, at, schedule, due_times(schedule, at, now, pipeline.schedule_key, is_waiting), is_waiting)


def _of(pipelines: Iterable[Pipeline]) -> IsAnyOf:
    return IsAnyOf("pipeline", [pipeline.pk for pipeline in pipelines])


def _list_waiting(pipelines: Collection[Pipeline]) -> dict[UUID, list[tuple[str, str]]]:
    runs = Run.objects.filter(_of(pipelines), kind__in=COUNTED, state__in=CLAIMABLE)
    found: dict[UUID, list[tuple[str, str]]] = defaultdict(list)
    for pipeline, trigger, state in runs.values_list("pipeline", "trigger", "state"):
        found[pipeline].append((trigger, state))
    return found


def _list_started(due: Collection[_Due]) -> set[tuple[UUID, datetime]]:
    """Return times that already have a run: when the clock is set back, a schedule may be due again at the same
    time."""
    times = {one.times.at for one in due if one.times.at is not None}
    runs = Run.objects.filter(_of(one.pipeline for one in due), scheduled_at__in=times)
    return {(pipeline, at) for pipeline, at in runs.values_list("pipeline", "scheduled_at") if at is not None}


def _list_handled(due: Collection[_Due]) -> set[tuple[UUID, datetime]]:
    """Return the times for which another app has acted instead of a run."""
    times = {one.pipeline.pk: one.times.at for one in due if one.times.at is not None}
    handled = set(chain.from_iterable(schedules_due(times.keys()))) if times else set()
    return {(pipeline, times[pipeline]) for pipeline in handled}


def _run_at(one: _Due, started: Collection[tuple[UUID, datetime]]) -> datetime | None:
    at = one.times.at
    return None if at is None or (one.pipeline.pk, at) in started else at


def _by_workspace(found: Iterable[_Due]) -> dict[UUID, list[_Due]]:
    grouped: dict[UUID, list[_Due]] = defaultdict(list)
    for one in found:
        grouped[one.pipeline.workspace_id].append(one)
    return grouped


def _report_broken(pipelines: Collection[Pipeline]) -> None:
    for pipeline in pipelines:
        message = f"The schedule of {pipeline} cannot be read."
        raise_alert("schedule.broken", "error", message, "Save the pipeline again.", pipeline=pipeline)


def _report_late(late: dict[UUID, list[_Due]]) -> None:
    for workspace_id, found in late.items():
        if len(found) > ONE_BY_ONE:
            _report_together(workspace_id, found)
            continue
        for one in found:
            hint = "Find out why no scheduler was running or why its run waits, or run it less often."
            raise_alert("schedule.missed", "warning", one.message, hint, pipeline=one.pipeline)


def _report_together(workspace_id: UUID, found: Sequence[_Due]) -> None:
    since = in_zone(min(one.at for one in found), "UTC")
    named = ", ".join(one.pipeline.slug for one in found[:3])
    raise_alert(
        "schedules.missed",
        "warning",
        f"{len(found)} pipelines were due since {since} and were not started, among them {named}. Each catches up as "
        "its schedule says.",
        "Find out why no scheduler or no worker was running.",
        workspace=Workspace.objects.get(pk=workspace_id),
    )


def _resolve(on_time: Collection[Pipeline], late: Collection[UUID]) -> None:
    """Resolve the alerts of pipelines that start on time, and of workspaces without late pipelines."""
    unresolved = Alert.objects.exclude(state=AlertState.RESOLVED)
    own = unresolved.filter(_of(on_time), kind__in=("schedule.missed", "schedule.broken"))
    for pipeline_id in set(own.values_list("pipeline_id", flat=True)):
        resolve_by("schedule.on_time", pipeline_id=pipeline_id)
    workspaces = {pipeline.workspace_id for pipeline in on_time} - set(late)
    together = unresolved.filter(kind="schedules.missed", workspace__in=workspaces)
    for workspace_id in set(together.values_list("workspace_id", flat=True)):
        resolve_by("schedules.on_time", workspace_id=workspace_id)
