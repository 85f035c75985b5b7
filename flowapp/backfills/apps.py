"""Django configuration of this app; registers its hooks with lower layers."""

from __future__ import annotations

from django.apps import AppConfig

from flowapp.registrations import Registers


class BackfillsConfig(Registers, AppConfig):
    name = "flowapp.backfills"

    def register(self) -> None:
        from flowapp.backfills import run_events
        from flowapp.backfills.advancing import advance_all
        from flowapp.backfills.run_kinds import BACKFILL, CHUNK, FINISH_BACKFILL
        from flowapp.processes import periodic
        from flowapp.runs import events, run_kinds

        run_kinds.register(BACKFILL, CHUNK, FINISH_BACKFILL)
        events.load_requested.register(run_events.kind_of_load)
        events.run_queued.register(run_events.attach_run)
        events.run_started.register(run_events.refuse_load_before_end)
        events.run_cancelled.register(run_events.stop_with_run)
        events.parked_run_idle.register(run_events.tick_for_waiting_process)
        events.run_ended.register(run_events.note_end)
        events.schedules_due.register(run_events.tick)
        periodic.register(periodic.Task("start chunks of backfills", advance_all))
