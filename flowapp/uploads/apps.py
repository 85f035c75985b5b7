"""Django's name of this app, and what it registers with those below it."""

from __future__ import annotations

from django.apps import AppConfig

from flowapp.registrations import Registers


class UploadsConfig(Registers, AppConfig):
    name = "flowapp.uploads"

    def register(self) -> None:
        from flowapp.processes import retention
        from flowapp.uploads.models import Upload

        retention.register(retention.Retention("Records of uploads", Upload, "at", 365))
