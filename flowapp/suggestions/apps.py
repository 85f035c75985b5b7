"""Django's name of this app, and what it registers with those below it."""

from __future__ import annotations

from django.apps import AppConfig

from flowapp.registrations import Registers


class SuggestionsConfig(Registers, AppConfig):
    name = "flowapp.suggestions"

    def register(self) -> None:
        from flowapp.runs import run_kinds
        from flowapp.suggestions.run_kinds import SAMPLE

        run_kinds.register(SAMPLE)
