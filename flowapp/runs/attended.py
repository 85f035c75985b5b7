"""Runs that a command waits for: a live worker executes them, otherwise this process."""

from __future__ import annotations

import time
from collections.abc import Callable

from django.conf import settings

from flowapp.clock import Now
from flowapp.pipelines.models import Pipeline
from flowapp.processes.heartbeats import count_alive
from flowapp.runs.dispatch import cancelling_on_interrupt, finish_abandoned, preview_inline, run_inline, run_to_end
from flowapp.runs.models import CLAIMABLE, RESTING, Run, RunKind, Trigger
from flowapp.runs.recovery import recover_lost_runs
from flowapp.runs.run_kinds import Engine
from flowapp.runs.services import queue_preview, queue_run

LOOK_SECONDS = 0.1
CHECK_SECONDS = 1.0
UNTAKEN_SECONDS = 30.0
"""The time for which workers may leave a due run unclaimed before this process executes it."""

ShowState = Callable[[str, str], None]
"""Receives the run's state and step."""


def has_live_worker() -> bool:
    """Return whether a worker sent a heartbeat within HEARTBEAT_SECONDS and a broker delivers runs to it."""
    return bool(settings.REDIS_URL) and count_alive("worker") > 0


def run_attended(pipeline: Pipeline, engine: Engine, show: ShowState, *, load_again: str | None = None) -> Run:
    """Run the newest version to its end. A run in this process uses `engine`. Raises the errors of `queue_run`.

    First, this process finishes runs that a killed command has left behind.
    """
    if not has_live_worker():
        return run_inline(pipeline, load_again=load_again, engine=engine)
    finish_abandoned(pipeline, RunKind.LOAD, engine)
    run = queue_run(pipeline, Trigger.CLI, if_busy="refuse", load_again=load_again, may_wait_for_files=False)
    return follow_run(run, engine, show)


def preview_attended(pipeline: Pipeline, engine: Engine, show: ShowState) -> Run:
    """Preview what a run would change. `engine` is as in `run_attended`. Raises the errors of `queue_preview`."""
    if not has_live_worker():
        return preview_inline(pipeline, engine=engine)
    return follow_run(queue_preview(pipeline, Trigger.CLI), engine, show)


def follow_run(run: Run, engine: Engine, show: ShowState) -> Run:
    """Wait until a run that was sent to the workers has ended or is held.

    This process executes the run if no worker is live any more or none has claimed it for UNTAKEN_SECONDS.
    """
    taken = checked = time.monotonic()
    with cancelling_on_interrupt(run):
        while run.state not in RESTING:
            show(run.state, run.step)
            time.sleep(LOOK_SECONDS)
            now = time.monotonic()
            if now - checked >= CHECK_SECONDS:
                checked = now
                recover_lost_runs(run.pipeline)
                if run.is_parked and not has_live_worker():
                    return run_to_end(run, engine)
                if not _is_untaken(run):
                    taken = now
                elif now - taken >= UNTAKEN_SECONDS or not has_live_worker():
                    return run_to_end(run, engine)
            run.refresh_from_db()
    return run


def _is_untaken(run: Run) -> bool:
    """Return whether workers had enough time to claim the run and did not."""
    return Run.objects.filter(pk=run.pk, state__in=CLAIMABLE, due_at__lte=Now()).exists()
