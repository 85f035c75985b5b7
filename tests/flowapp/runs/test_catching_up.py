"""Missed times, crashes of schedulers and clocks that go back: each time is handled once."""

from __future__ import annotations

import os
import signal
import time
from datetime import UTC, datetime, timedelta

import pytest
from django.db import connection
from django.db.models import Max

from flowapp.accounts.models import Workspace
from flowapp.alerts.models import Alert, AlertState
from flowapp.pipelines.models import Pipeline
from flowapp.pipelines.services import set_paused
from flowapp.runs import schedules
from flowapp.runs.due_times import MOST_COUNTED, due_times
from flowapp.runs.leases import claim_run
from flowapp.runs.models import Run, State, Trigger
from flowapp.runs.queue_watch import resend_queued
from flowapp.runs.schedules import fire_due
from flowapp.runs.services import queue_run
from ir.schedules import EverySchedule
from tests.flowapp.together import at_once

pytestmark = pytest.mark.django_db
NOON = datetime(2025, 6, 1, 12, 0, tzinfo=UTC)
HOUR = timedelta(hours=1)


@pytest.fixture
def due(save, sent):
    """Makes a pipeline that is due at noon and every hour."""

    def make(slug: str = "numbers", **options: str) -> Pipeline:
        pipeline = save(slug, schedule={"kind": "every", "interval": "1h", **options}).pipeline
        Pipeline.objects.filter(pk=pipeline.pk).update(next_fire_at=NOON)
        return pipeline

    return make


def scheduled_hours() -> list[int]:
    return [run.scheduled_at.hour for run in Run.objects.order_by("number")]


def unresolved() -> set[str]:
    return set(Alert.objects.exclude(state=AlertState.RESOLVED).values_list("kind", flat=True))


def run_of(catch_up: str, now: datetime, is_waiting: bool = False) -> tuple[datetime | None, datetime]:
    schedule = EverySchedule(kind="every", interval="1h", catch_up=catch_up)
    times = due_times(schedule, NOON, now, "orders", is_waiting)
    return times.at, times.next_at


@pytest.mark.parametrize(
    ("catch_up", "hours", "expected"),
    [
        ("latest", 0.01, (0, 1)),
        ("latest", 3.5, (0, 4)),
        ("skip", 0.01, (0, 1)),
        ("skip", 0.5, (None, 1)),
        ("skip", 3.01, (3, 4)),
        ("skip", 3.5, (None, 4)),
        ("all", 0.01, (0, 1)),
        ("all", 3.5, (0, 1)),
    ],
)
def test_missed_times_are_made_up_for_as_the_schedule_says(catch_up, hours, expected):
    at, following = (None if hour is None else NOON + hour * HOUR for hour in expected)
    assert run_of(catch_up, NOON + hours * HOUR) == (at, following)


@pytest.mark.parametrize("catch_up", ["latest", "skip"])
def test_a_waiting_run_of_the_schedule_covers_the_next_time(catch_up):
    assert run_of(catch_up, NOON, is_waiting=True) == (None, NOON + HOUR)


def test_the_next_time_lies_ahead_after_more_missed_times_than_are_counted():
    times = due_times(EverySchedule(kind="every", interval="1m"), NOON, NOON + 50 * HOUR, "orders", False)
    assert (times.count, times.next_at) == (MOST_COUNTED, NOON + 50 * HOUR + timedelta(minutes=1))


def test_all_missed_times_get_runs_in_order_of_which_one_is_queued(due):
    due(catchUp="all")
    for queued in range(4):
        assert fire_due(NOON + 3.5 * HOUR) == 1
        assert fire_due(NOON + 3.5 * HOUR) == 0
        assert scheduled_hours() == list(range(12, 13 + queued))
        Run.objects.update(state=State.SUCCEEDED)
    assert fire_due(NOON + 3.5 * HOUR) == 0
    assert "Each time gets its own run" in Alert.objects.get().message


def test_skipped_times_are_reported(due):
    due(catchUp="skip")
    fire_due(NOON + 3.5 * HOUR)
    assert (Run.objects.count(), unresolved()) == (0, {"schedule.missed"})
    fire_due(NOON + 4 * HOUR)
    assert (scheduled_hours(), unresolved()) == ([16], set())


def test_a_schedule_waits_while_a_manual_run_is_queued(due):
    by_hand = queue_run(due(), Trigger.MANUAL)
    assert fire_due(NOON) == 0
    claim_run(by_hand.pk, "worker")
    assert fire_due(NOON) == 1
    assert Run.objects.filter(state=State.QUEUED).count() == 1


def test_a_scheduled_run_is_sent_in_the_same_tick(due, sent):
    due()
    fire_due(NOON)
    resend_queued(NOON)
    assert sent == [str(Run.objects.get().pk)]


def test_a_clock_that_is_set_back_repeats_no_time(due, monkeypatch):
    pipeline = due()
    fire_due(NOON)
    Run.objects.update(state=State.SUCCEEDED)
    monkeypatch.setattr("flowapp.pipelines.services.timezone.now", lambda: NOON - HOUR / 2)
    set_paused(pipeline, True)
    set_paused(pipeline, False)
    assert pipeline.next_fire_at == NOON
    fire_due(NOON)
    assert Run.objects.count() == 1
    fire_due(NOON + HOUR)
    assert scheduled_hours() == [12, 13]


def test_many_late_pipelines_of_a_workspace_are_one_alert_which_resolves_itself(due, monkeypatch):
    monkeypatch.setattr(schedules, "ONE_BY_ONE", 1)
    due("a"), due("b")
    fire_due(NOON + HOUR / 2)
    assert unresolved() == {"schedules.missed"}
    assert "2 pipelines" in Alert.objects.get().message
    Run.objects.update(state=State.SUCCEEDED)
    fire_due(NOON + HOUR)
    assert unresolved() == set()


def test_batches_go_on_until_nothing_is_due(due, monkeypatch):
    monkeypatch.setattr(schedules, "AT_ONCE", 1)
    for slug in ("a", "b", "c"):
        due(slug)
    assert fire_due(NOON) == 3
    assert Pipeline.objects.aggregate(Max("run_counter"))["run_counter__max"] == 1


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("catch_up", ["latest", "all"])
def test_schedulers_at_once_queue_one_run_for_each_of_many_pipelines(due, monkeypatch, catch_up):
    monkeypatch.setattr(schedules, "AT_ONCE", 2)
    for slug in "abcde":
        due(slug, catchUp=catch_up)
    at_once(*[lambda: fire_due(NOON + 2.5 * HOUR)] * 4)
    fire_due(NOON + 2.5 * HOUR)
    assert sorted(Run.objects.values_list("pipeline__slug", flat=True)) == list("abcde")


@pytest.mark.django_db(transaction=True)
@pytest.mark.skipif(connection.vendor == "sqlite", reason="an open file must not be shared with a forked process")
@pytest.mark.parametrize("step", ["move_on", "_report_together", "_resolve"])
def test_a_scheduler_that_is_killed_between_its_steps_leaves_every_time_to_the_next(due, monkeypatch, step):
    monkeypatch.setattr(schedules, "ONE_BY_ONE", 0)
    due()
    killed = os.fork()
    if killed == 0:  # the session of the parent stays open: its file descriptor is not to be used here
        parent_session, connection.connection = connection.connection, None
        monkeypatch.setattr(schedules, step, lambda *_: os.kill(os.getpid(), signal.SIGKILL))
        fire_due(NOON + HOUR / 2)
        os._exit(parent_session is None)
    assert os.waitpid(killed, 0)[1] == signal.SIGKILL
    assert Run.objects.count() == 0
    # The locks of the killed session end when the server notices, and a scheduler skips locked pipelines until then.
    patience = time.monotonic() + 30
    while not fire_due(NOON + HOUR / 2):
        assert time.monotonic() < patience
        time.sleep(0.02)
    assert (scheduled_hours(), unresolved()) == ([12], {"schedules.missed"})
    assert Workspace.objects.count() == 1
