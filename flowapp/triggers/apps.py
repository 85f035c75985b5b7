"""Django's name of this app, and what it registers with those below it."""

from __future__ import annotations

from django.apps import AppConfig

from flowapp.registrations import Registers


class TriggersConfig(Registers, AppConfig):
    name = "flowapp.triggers"

    def register(self) -> None:
        from flowapp.connections.rotation import register_encrypted
        from flowapp.processes import periodic
        from flowapp.triggers.calls import forget_old_calls
        from flowapp.triggers.models import EventTrigger

        register_encrypted(EventTrigger, "secret")
        periodic.register(periodic.Task("forget old calls of triggers", lambda _: forget_old_calls(), 60))
