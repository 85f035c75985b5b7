"""Django's name of this app, and what it registers with those below it."""

from __future__ import annotations

from django.apps import AppConfig

from flowapp.registrations import Registers


class BackupsConfig(Registers, AppConfig):
    name = "flowapp.backups"

    def register(self) -> None:
        from flowapp.backups.purposes import RESTORE
        from flowapp.backups.records import note_backup
        from flowapp.backups.selectors import KEPT_DAYS
        from flowapp.backups.services import drop_old_backups
        from flowapp.processes import periodic, retention
        from flowapp.runs import events, purposes
        from ir.words import counted

        purposes.register(RESTORE)
        events.load_committed.register(note_backup)
        retention.describe("Backups of tables", lambda: counted(KEPT_DAYS, "day"))
        periodic.register(periodic.Task("drop old backups", lambda _: drop_old_backups(), 3600, periodic.CLEARING_UP))
