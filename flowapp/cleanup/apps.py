"""Django configuration of this app; registers its hooks with lower layers."""

from __future__ import annotations

from django.apps import AppConfig

from flowapp.registrations import Registers


class CleanupConfig(Registers, AppConfig):
    name = "flowapp.cleanup"

    def register(self) -> None:
        from flowapp.cleanup import services
        from flowapp.pipelines import deletion
        from flowapp.processes import periodic

        deletion.before_deletion.register(services.before_deletion)
        periodic.register(
            periodic.Task(
                "clean up after deleted pipelines", lambda _: services.clean_up_pending(), 3600, periodic.CLEARING_UP
            )
        )
