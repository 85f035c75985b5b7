"""Queues deliveries in the transaction that changes an alert. The courier sends them."""

from __future__ import annotations

from collections.abc import Collection
from uuid import UUID

from django.db.models import Q

from flowapp.alerts.kinds import ALERT_KINDS
from flowapp.alerts.models import Alert, AlertState, Severity
from flowapp.channels.models import Channel, Delivery, Event
from flowapp.clock import Now


def note_opened(alert: Alert) -> None:
    """Queue a message for every channel of the workspace whose filter matches."""
    if not ALERT_KINDS[alert.kind].is_sent:
        return
    severe_enough = Q(severity=Severity.WARNING) | Q(severity=alert.severity)
    channels = Channel.objects.filter(severe_enough, workspace=alert.workspace_id)
    _write(Event.OPENED, [(channel.pk, alert.pk) for channel in channels if wants_kind(channel, alert.kind)])


def note_resolved(alerts: Collection[UUID]) -> None:
    """Queue a message that the alert is resolved for every channel that received the alert."""
    is_sent = Delivery.objects.filter(event=Event.OPENED, alert__in=alerts, alert__state=AlertState.RESOLVED)
    _write(Event.RESOLVED, list(is_sent.order_by("pk").values_list("channel_id", "alert_id")))


def wants_kind(channel: Channel, kind: str) -> bool:
    return not channel.kinds or kind in channel.kinds


def _write(event: Event, pairs: Collection[tuple[UUID, UUID | None]]) -> None:
    Delivery.objects.bulk_create(
        [
            Delivery(channel_id=channel, alert_id=alert, event=event, made_at=Now(), due_at=Now())
            for channel, alert in pairs
        ],
        ignore_conflicts=True,
    )
