"""Django configuration of this app; registers its hooks with lower layers."""

from __future__ import annotations

from django.apps import AppConfig

from flowapp.registrations import Registers


class ChannelsConfig(Registers, AppConfig):
    name = "flowapp.channels"

    def register(self) -> None:
        from django.db.models import Q

        from flowapp.alerts import events
        from flowapp.channels.courier import deliver_due
        from flowapp.channels.models import Channel, Delivery, DeliveryState
        from flowapp.channels.outbox import note_opened, note_resolved
        from flowapp.channels.selectors import RETENTION_DAYS
        from flowapp.connections.rotation import register_encrypted
        from flowapp.processes import periodic, retention

        events.opened.register(note_opened)
        events.resolved.register(note_resolved)
        register_encrypted(Channel, "secret")
        sent = ~Q(state=DeliveryState.PENDING)
        retention.register(retention.Retention("Messages to channels", Delivery, "made_at", RETENTION_DAYS, sent))
        periodic.register(periodic.Task("send messages", lambda _: deliver_due(), thread="courier"))
