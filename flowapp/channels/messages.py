"""Build the content of alert messages: names and counts as on System Health, never a value of a row."""

from __future__ import annotations

from django.conf import settings
from django.urls import reverse

from flowapp.accounts.models import Workspace
from flowapp.alerts.kinds import title_of
from flowapp.alerts.models import Alert, Severity
from flowapp.alerts.serializers import AlertSerializer
from flowapp.channels.message import Message
from flowapp.channels.models import Channel, Delivery, Event

SHOWN_ALERT = (
    "id",
    "kind",
    "severity",
    "state",
    "pipeline",
    "run",
    "node",
    "message",
    "nextStep",
    "count",
    "firstSeenAt",
    "lastSeenAt",
)


def message_of(delivery: Delivery) -> Message:
    """Return the current message of a delivery. The caller has loaded its channel, the channel's workspace and its
    alert."""
    channel = delivery.channel
    if delivery.alert is None:
        return message_of_test(channel)
    alert, over = delivery.alert, delivery.event == Event.RESOLVED
    where = f" in {alert.pipeline.slug}" if alert.pipeline else ""
    headline = f"{'Resolved' if over else alert.severity.capitalize()}: {title_of(alert.kind)}{where}"
    url = address_of(alert, channel.workspace)
    facts = {name: value for name, value in AlertSerializer(alert).data.items() if name in SHOWN_ALERT}
    return Message(
        channel.workspace.slug,
        channel.name,
        alert.severity == Severity.ERROR and not over,
        headline,
        (headline, alert.message, *([] if over else [alert.next_step]), _seen(alert), url),
        {"event": f"alert.{delivery.event}", "workspace": channel.workspace.slug, "alert": {**facts, "url": url}},
    )


def message_of_test(channel: Channel) -> Message:
    headline = f"Test of the channel {channel.name}"
    return Message(
        channel.workspace.slug,
        channel.name,
        False,
        headline,
        (headline, "This channel receives alerts of this workspace. No action is needed.", settings.FLOW_PUBLIC_URL),
        {"event": "test", "workspace": channel.workspace.slug, "channel": channel.name},
    )


def address_of(alert: Alert, workspace: Workspace) -> str:
    """Return the URL of the alert's run, or of System Health if there is no run."""
    if alert.run_id:
        path = reverse("runs:detail", args=[workspace.slug, alert.run_id])
    else:
        path = reverse("health:home", args=[workspace.slug])
    return settings.FLOW_PUBLIC_URL.rstrip("/") + path


def _seen(alert: Alert) -> str:
    times = "once" if alert.count == 1 else f"{alert.count:,} times"
    return f"Seen {times}, last at {alert.last_seen_at:%Y-%m-%d %H:%M} UTC."
