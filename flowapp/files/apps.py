"""Django's name of this app, and what it registers with those below it."""

from __future__ import annotations

from django.apps import AppConfig


class FilesConfig(AppConfig):
    name = "flowapp.files"

    def ready(self) -> None:
        from django.db.models import Q

        from flowapp.files.models import LoadUnit, UnitState, Upload
        from flowapp.processes import retention

        skipped = Q(state=UnitState.SKIPPED)
        retention.register(
            retention.Retention("Files that were left out", LoadUnit, "changed_at", 90, skipped),
            retention.Retention("Uploads, as noted here", Upload, "at", 365),
        )
