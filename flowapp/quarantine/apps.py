"""Django's name of this app, and what it registers with those below it."""

from __future__ import annotations

from django.apps import AppConfig
from django.db.models.signals import pre_delete

from flowapp.registrations import Registers


class QuarantineConfig(Registers, AppConfig):
    name = "flowapp.quarantine"

    def ready(self) -> None:
        from flowapp.quarantine.totals import forget_run

        pre_delete.connect(forget_run, sender="runs.Run")

    def register(self) -> None:
        from flowapp.processes import periodic, retention
        from flowapp.quarantine import purging, retained, totals
        from flowapp.quarantine.records import note_results
        from flowapp.quarantine.run_kinds import OVER_ROWS
        from flowapp.runs import events, run_kinds
        from ir.words import counted

        run_kinds.register(*OVER_ROWS)
        events.rows_counted.register(note_results)
        events.rules_counted.register(totals.change_totals)
        retention.register(*retained.RETENTION)
        retention.describe("Rejected rows of replays (ids)", lambda: counted(retained.ROW_IDS_DAYS, "day"))
        periodic.register(
            periodic.Task("forget row ids", lambda _: retained.forget_row_ids(), 3600),
            periodic.Task("purge rejected rows", lambda _: purging.purge_old_rows(), 3600, periodic.CLEARING_UP),
            periodic.Task("continue purges", lambda _: purging.continue_purges(), 30, periodic.CLEARING_UP),
        )
