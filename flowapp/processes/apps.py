"""Django's name of this app, and its own periodic tasks."""

from __future__ import annotations

from django.apps import AppConfig

from flowapp.registrations import Registers

RETENTION = "retention"
"""The thread of slow tasks, so that the deletion of old rows does not delay schedules."""


class ProcessesConfig(Registers, AppConfig):
    name = "flowapp.processes"

    def register(self) -> None:
        from flowapp.processes import periodic
        from flowapp.processes.heartbeats import forget_dead
        from flowapp.processes.retention import delete_old_rows

        periodic.register(
            periodic.Task("delete old rows", lambda _: delete_old_rows(), 3600, RETENTION),
            periodic.Task("forget dead processes", lambda _: forget_dead(), 3600, RETENTION),
        )
