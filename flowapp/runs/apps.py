"""Django's name of this app, and what it registers with those below it."""

from __future__ import annotations

from django.apps import AppConfig
from django.db.models.signals import post_delete

from flowapp.registrations import Registers

RUN_OUTCOMES = "runs' ends"
"""The thread of tasks that query the targets of runs for which others wait."""


class RunsConfig(Registers, AppConfig):
    name = "flowapp.runs"

    def ready(self) -> None:
        from flowapp.runs.deletion import forget_deleted

        post_delete.connect(forget_deleted, sender="runs.Run")

    def register(self) -> None:
        from flowapp.connections import usage
        from flowapp.connections.rotation import register_encrypted
        from flowapp.pipelines import deletion, services
        from flowapp.processes import periodic, retention
        from flowapp.runs import janitor, retained
        from flowapp.runs.connection_use import refuse_removal
        from flowapp.runs.deletion import refuse_unfinished
        from flowapp.runs.holds import expire_holds
        from flowapp.runs.models import EffectSample, Run
        from flowapp.runs.queue_watch import resend_queued, watch_queue, watch_workers
        from flowapp.runs.recovery import recover_lost_runs
        from flowapp.runs.schedules import fire_due

        usage.before_removal.register(refuse_removal)
        deletion.before_deletion.register(refuse_unfinished)
        services.before_archiving.register(refuse_unfinished)
        register_encrypted(EffectSample, "encrypted")
        register_encrypted(Run, "error_detail")
        retention.register(*retained.RETENTION)
        for what, how_long in retained.DESCRIBED:
            retention.describe(what, how_long)
        periodic.register(
            periodic.Task("fire schedules", fire_due),
            periodic.Task("send queued runs again", resend_queued),
            periodic.Task("watch workers", watch_workers, 10),
            periodic.Task("watch the queue", watch_queue, 60),
            periodic.Task("delete old samples", lambda _: retained.SAMPLES.delete(), 300),
            periodic.Task("take back lost runs", lambda _: recover_lost_runs(), thread=RUN_OUTCOMES),
            periodic.Task("expire holds", lambda _: expire_holds(), 60, RUN_OUTCOMES),
            periodic.Task("drop old row samples", lambda _: janitor.drop_old_row_samples(), 3600, periodic.CLEARING_UP),
            periodic.Task("sweep staging", lambda _: janitor.sweep_staging(), 3600, periodic.CLEARING_UP),
            periodic.Task("sweep fetched rows", lambda _: janitor.sweep_fetched_rows(), 3600, periodic.CLEARING_UP),
        )
