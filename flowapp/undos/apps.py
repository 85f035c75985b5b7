"""Django configuration of this app; registers its hooks with lower layers."""

from __future__ import annotations

from django.apps import AppConfig

from flowapp.registrations import Registers


class UndosConfig(Registers, AppConfig):
    name = "flowapp.undos"

    def register(self) -> None:
        from flowapp.runs import run_kinds
        from flowapp.undos.run_kinds import UNDO

        run_kinds.register(UNDO)
