"""Django configuration of this app; registers its hooks with lower layers."""

from __future__ import annotations

from django.apps import AppConfig

from flowapp.registrations import Registers


class BackupsConfig(Registers, AppConfig):
    name = "flowapp.backups"

    def register(self) -> None:
        from flowapp.backups.records import note_backup
        from flowapp.backups.run_kinds import RESTORE
        from flowapp.backups.selectors import RETENTION_DAYS
        from flowapp.backups.services import drop_old_backups
        from flowapp.processes import periodic, retention
        from flowapp.runs import events, run_kinds
        from ir.words import counted

        run_kinds.register(RESTORE)
        events.load_committed.register(note_backup)
        retention.describe("Backups of tables", lambda: counted(RETENTION_DAYS, "day"))
        periodic.register(periodic.Task("drop old backups", lambda _: drop_old_backups(), 3600, periodic.CLEARING_UP))
