"""Django configuration of this app; registers its hooks with lower layers."""

from __future__ import annotations

from django.apps import AppConfig

from flowapp.registrations import Registers


class AlertsConfig(Registers, AppConfig):
    name = "flowapp.alerts"

    def register(self) -> None:
        from django.db.models import Q

        from flowapp.alerts.models import Alert, AlertState
        from flowapp.processes import retention

        retention.register(
            retention.Retention("Resolved alerts", Alert, "resolved_at", 90, Q(state=AlertState.RESOLVED))
        )
