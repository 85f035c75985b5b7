"""Django's name of this app, and what it registers with those below it."""

from __future__ import annotations

from django.apps import AppConfig

from flowapp.registrations import Registers


class SuggestionsConfig(Registers, AppConfig):
    name = "flowapp.suggestions"

    def register(self) -> None:
        from flowapp.runs import purposes
        from flowapp.suggestions.purposes import SAMPLE

        purposes.register(SAMPLE)
