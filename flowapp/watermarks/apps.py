"""Django's name of this app, and what it registers with those below it."""

from __future__ import annotations

from django.apps import AppConfig

from flowapp.registrations import Registers


class WatermarksConfig(Registers, AppConfig):
    name = "flowapp.watermarks"

    def register(self) -> None:
        from flowapp.runs import events
        from flowapp.watermarks.services import copy_watermark

        events.load_committed.register(copy_watermark)
