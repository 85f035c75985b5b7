"""Django's name of this app, and what it registers with those below it."""

from __future__ import annotations

from django.apps import AppConfig

from flowapp.registrations import Registers


class PipelinesConfig(Registers, AppConfig):
    name = "flowapp.pipelines"

    def register(self) -> None:
        from flowapp.connections import usage
        from flowapp.modules import usage as module_usage
        from flowapp.pipelines.connection_use import pipelines_naming
        from flowapp.pipelines.module_use import pipelines_by_module
        from flowapp.pipelines.tap_use import pipelines_naming_tap
        from flowapp.taps import usage as tap_usage

        usage.naming_pipelines.register(pipelines_naming)
        module_usage.naming_pipelines.register(pipelines_by_module)
        tap_usage.naming_pipelines.register(pipelines_naming_tap)
