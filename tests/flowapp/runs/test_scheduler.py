"""The scheduler: each fire once, however many schedulers tick and whatever clocks do; nothing stays lying about."""

from __future__ import annotations

import threading
from datetime import UTC, datetime, timedelta

import psycopg
import pytest
from django.db import DatabaseError

from flowapp.alerts.models import Alert, AlertState
from flowapp.alerts.services import raise_alert
from flowapp.clock import Now, from_now
from flowapp.pipelines.models import Pipeline
from flowapp.pipelines.services import set_archived, set_enabled, set_paused
from flowapp.processes import periodic
from flowapp.processes.heartbeats import beat
from flowapp.processes.periodic import ON_TIME, Task, TasksThread, claim, tasks_by_thread, tick
from flowapp.runs.leases import claim_run
from flowapp.runs.models import Run, State, Trigger
from flowapp.runs.queue_watch import resend_queued, watch_queue, watch_workers
from flowapp.runs.schedules import fire_due
from flowapp.runs.services import queue_run
from tests.flowapp.together import at_once

pytestmark = pytest.mark.django_db
NOON = datetime(2025, 6, 1, 12, 0, tzinfo=UTC)
BERLIN_NIGHTLY = {"kind": "cron", "expression": "30 2 * * *", "timezone": "Europe/Berlin"}


@pytest.fixture
def hourly(save, sent):
    """A pipeline that is due at noon and every hour."""
    pipeline = save(schedule={"kind": "every", "interval": "1h"}).pipeline
    Pipeline.objects.update(next_fire_at=NOON)
    return pipeline


def open_alerts() -> set[str]:
    return set(Alert.objects.exclude(state=AlertState.RESOLVED).values_list("kind", flat=True))


def test_a_due_schedule_queues_a_run_and_moves_on(hourly):
    assert fire_due(NOON + timedelta(seconds=1)) == 1
    hourly.refresh_from_db()
    assert hourly.next_fire_at == NOON + timedelta(hours=1)
    assert (Run.objects.get().trigger, Run.objects.get().max_attempts) == (Trigger.SCHEDULE, 3)
    assert fire_due(NOON + timedelta(seconds=2)) == 0


def test_nothing_is_due_early(hourly):
    assert fire_due(NOON - timedelta(seconds=1)) == 0


@pytest.mark.django_db(transaction=True)
def test_schedulers_that_tick_at_once_fire_once(hourly):
    fired = at_once(*[lambda: fire_due(NOON)] * 4)
    assert sorted(fired) == [0, 0, 0, 1]
    assert Run.objects.count() == 1


@pytest.mark.django_db(transaction=True)
def test_a_manual_run_at_a_scheduled_time_makes_two_runs_of_which_one_waits(hourly):
    at_once(lambda: fire_due(NOON), lambda: queue_run(hourly, Trigger.MANUAL))
    first = Run.objects.order_by("number")[0]
    assert claim_run(first.pk, "a")
    fire_due(NOON)  # for the schedule, which waited until the manual run was claimed
    second = Run.objects.get(number=2)
    assert claim_run(second.pk, "b") is None
    second.refresh_from_db()
    assert second.state == State.QUEUED


def test_missed_fires_are_caught_up_by_one_run_and_reported(hourly):
    fire_due(NOON + timedelta(hours=5, minutes=10))
    assert Run.objects.count() == 1
    assert open_alerts() == {"schedule.missed"}
    assert "6 times" in Alert.objects.get().message
    hourly.refresh_from_db()
    assert hourly.next_fire_at == NOON + timedelta(hours=6)


def test_a_fire_in_time_resolves_what_was_missed(hourly):
    fire_due(NOON + timedelta(hours=5, minutes=10))
    Run.objects.update(state=State.SUCCEEDED)
    fire_due(NOON + timedelta(hours=6))
    assert open_alerts() == set()


def test_a_waiting_scheduled_run_also_counts_for_the_next_time(hourly):
    fire_due(NOON)
    fire_due(NOON + timedelta(hours=1))
    assert Run.objects.count() == 1
    assert open_alerts() == {"schedule.missed"}


def test_an_invalid_schedule_is_reported_and_delays_no_other(hourly, save):
    save("other", schedule={"kind": "every", "interval": "1h"})
    Pipeline.objects.update(next_fire_at=NOON)
    Pipeline.objects.filter(pk=hourly.pk).update(schedule={"kind": "moon"}, next_fire_at=NOON - timedelta(hours=1))
    assert fire_due(NOON) == 2
    assert open_alerts() == {"schedule.broken"}
    assert fire_due(NOON) == 0


@pytest.mark.parametrize(
    "switch", [lambda p: set_paused(p, True), lambda p: set_enabled(p, False), lambda p: set_archived(p, True)]
)
def test_what_is_paused_or_off_or_archived_does_not_fire(hourly, switch):
    switch(hourly)
    assert fire_due(NOON + timedelta(days=1)) == 0


def test_resuming_catches_up_nothing(hourly):
    set_paused(hourly, True)
    set_paused(hourly, False)
    assert hourly.next_fire_at > datetime.now(UTC)


@pytest.mark.parametrize(
    ("begin", "fires"),
    [
        (datetime(2025, 3, 29, 0, 0, tzinfo=UTC), ["2025-03-29 01:30", "2025-03-30 01:00", "2025-03-31 00:30"]),
        (datetime(2025, 10, 25, 0, 0, tzinfo=UTC), ["2025-10-25 00:30", "2025-10-26 00:30", "2025-10-27 01:30"]),
    ],
    ids=["an hour is skipped", "an hour is repeated"],
)
def test_a_nightly_job_fires_once_a_day_when_clocks_change(save, sent, begin, fires):
    save(schedule=BERLIN_NIGHTLY)
    Pipeline.objects.update(next_fire_at=begin)
    moment, seen = begin, []
    fire_due(moment)  # sets the first true time
    Run.objects.all().delete()
    while moment < begin + timedelta(days=3):
        moment += timedelta(minutes=30)
        if fire_due(moment):
            seen.append(f"{Pipeline.objects.get().fired_at:%Y-%m-%d %H:%M}")
            Run.objects.update(state=State.SUCCEEDED)
    assert seen == fires


def test_a_run_that_was_not_taken_is_sent_again_once(pipeline, sent):
    run = queue_run(pipeline, Trigger.MANUAL)
    assert resend_queued(NOON) == 0
    Run.objects.update(sent_at=from_now(-31))
    assert resend_queued(NOON) == 1
    assert resend_queued(NOON) == 0
    assert sent == [str(run.pk)]


def test_a_waiting_run_is_sent_when_it_comes_due(pipeline, sent):
    queue_run(pipeline, Trigger.MANUAL)
    Run.objects.update(state=State.WAITING, sent_at=from_now(-600), due_at=from_now(5))
    assert resend_queued(NOON) == 0
    Run.objects.update(due_at=Now())
    assert resend_queued(NOON) == 1


def test_runs_without_a_worker_are_reported_until_one_is_heard_of(pipeline, sent):
    queue_run(pipeline, Trigger.MANUAL)
    Run.objects.update(due_at=from_now(-10))
    watch_workers(NOON)
    assert open_alerts() == {"workers.none"}
    beat("w", "worker")
    watch_workers(NOON)
    assert open_alerts() == set()


def test_a_worker_long_silent_is_no_worker(pipeline, sent):
    from flowapp.processes.models import Heartbeat

    queue_run(pipeline, Trigger.MANUAL)
    Run.objects.update(due_at=from_now(-10))
    beat("w", "worker")
    Heartbeat.objects.update(seen_at=from_now(-31))
    watch_workers(NOON)
    assert open_alerts() == {"workers.none"}


def test_a_run_that_no_worker_takes_is_reported_as_a_stuck_queue(pipeline, sent):
    queue_run(pipeline, Trigger.MANUAL)
    beat("w", "worker")
    Run.objects.update(due_at=from_now(-601))
    watch_queue(NOON)
    assert open_alerts() == {"queue.stuck"}
    Run.objects.update(state=State.SUCCEEDED)
    watch_queue(NOON)
    assert open_alerts() == set()


@pytest.mark.parametrize("watch", [watch_workers, watch_queue])
def test_each_workspace_hears_of_its_own_runs_and_the_first_one_that_there_are_some(
    pipeline, sent, settings, watch, monkeypatch
):
    from flowapp.accounts.models import Workspace
    from flowapp.channels.models import Channel

    teams = [Workspace.objects.create(slug=slug) for slug in (settings.FLOW_WORKSPACE, "idle-team")]
    for team in (*teams, pipeline.workspace):
        Channel.objects.create(workspace=team, name="pager", kind="webhook", secret="s")
    for _ in range(2):
        queue_run(pipeline, Trigger.MANUAL)
    Run.objects.update(due_at=from_now(-601))
    monkeypatch.setattr("flowapp.runs.queue_watch.count_alive", lambda _: watch is watch_queue)
    watch(NOON)
    reported = dict(Alert.objects.values_list("workspace__slug", "message"))
    assert set(reported) == {settings.FLOW_WORKSPACE, "alices-team"}
    assert "2 runs" in reported["alices-team"]
    assert "uns of other workspaces" in reported[settings.FLOW_WORKSPACE]
    assert not any(digit in reported[settings.FLOW_WORKSPACE] for digit in "2345")
    channels = Channel.objects.filter(deliveries__isnull=False).values_list("workspace__slug", flat=True)
    assert set(channels) == {settings.FLOW_WORKSPACE, "alices-team"}


def test_the_alert_of_a_workspace_whose_runs_start_ends_while_others_wait(pipeline, sent, settings):
    from flowapp.accounts.models import Workspace

    bobs = Workspace.objects.create(slug="bobs-team")
    Workspace.objects.create(slug=settings.FLOW_WORKSPACE)
    run = queue_run(pipeline, Trigger.MANUAL)
    Run.objects.update(due_at=from_now(-601))
    beat("w", "worker")
    raise_alert("queue.stuck", "warning", "m", "n", workspace=bobs)
    watch_queue(NOON)
    unresolved = Alert.objects.exclude(state="resolved")
    assert set(unresolved.values_list("workspace__slug", flat=True)) == {"alices-team", settings.FLOW_WORKSPACE}
    Run.objects.filter(pk=run.pk).update(state=State.SUCCEEDED)
    watch_queue(NOON)
    assert open_alerts() == set()


def test_a_run_that_waits_for_the_pipelines_running_one_is_not_stuck(pipeline, sent):
    claim_run(queue_run(pipeline, Trigger.MANUAL).pk, "w")
    queue_run(pipeline, Trigger.MANUAL)
    beat("w", "worker")
    Run.objects.update(due_at=from_now(-601))
    watch_queue(NOON)
    assert open_alerts() == set()


@pytest.mark.django_db(transaction=True)
def test_a_periodic_task_is_done_by_one_of_many():
    assert sorted(at_once(*[lambda: claim("sweep", 60)] * 4)) == [False, False, False, True]
    assert not claim("sweep", 60)


def test_a_step_that_fails_does_not_keep_the_others_from_being_done(hourly, monkeypatch, caplog):
    def broken(now):
        raise DatabaseError("no answer")

    done = []
    monkeypatch.setattr(periodic.connections, "close_all", lambda: None)
    tick((Task("broken", broken), Task("next", done.append)), NOON)
    assert done == [NOON]
    assert "The periodic task 'broken' failed" in caplog.text


def test_a_whole_tick_does_every_step_and_schedules_fire_without_any_target(hourly, caplog, monkeypatch):
    asked = []

    def unreachable(**address):
        asked.append(address)
        raise psycopg.OperationalError("no answer")

    monkeypatch.setattr("executors.postgres.client.Session.connect", unreachable)
    tasks = tasks_by_thread()
    tick(tasks.pop(ON_TIME), NOON)
    assert (Run.objects.count(), asked) == (1, [])
    for beside in tasks.values():
        tick(beside, NOON)
    assert asked
    assert "failed" not in caplog.text


def test_what_takes_long_has_a_thread_that_ends_when_confirmed():
    done = threading.Event()
    thread = TasksThread("beside", [Task("task", lambda _: done.set())], 60)
    thread.start()
    assert done.wait(5)
    thread.stop()
    assert not thread.is_alive()
