"""Django's name of this app, and what it registers with those below it."""

from __future__ import annotations

from django.apps import AppConfig

from flowapp.registrations import Registers


class ManifestsConfig(Registers, AppConfig):
    name = "flowapp.manifests"

    def register(self) -> None:
        from flowapp.manifests.models import Proposal
        from flowapp.processes import retention

        retention.register(retention.Retention("Plans of projects, with their files", Proposal, "proposed_at", 90))
