"""Queries for channels and their deliveries. None of them decrypts a secret."""

from __future__ import annotations

from collections.abc import Sequence
from uuid import UUID

from django.db.models import Count, QuerySet

from flowapp.accounts.models import Workspace
from flowapp.channels.models import Channel, Delivery, DeliveryState
from ir.errors import FlowError

NEWEST_FIRST = ("-id",)
RETENTION_DAYS = 30
"""The number of days for which the log of deliveries is stored."""


def list_channels(workspace: Workspace) -> list[Channel]:
    return list(Channel.objects.filter(workspace=workspace).select_related("workspace").order_by("name"))


def get_channel(workspace: Workspace, name: str) -> Channel:
    """Return a channel of this workspace. Raises FlowError."""
    try:
        return Channel.objects.select_related("workspace").get(workspace=workspace, name=name)
    except Channel.DoesNotExist:
        known = ", ".join(channel.name for channel in list_channels(workspace)) or "none yet"
        raise FlowError(
            "channel.unknown",
            f"There is no channel {name!r} in workspace {workspace.slug!r}.",
            hint=f"Channels: {known}.",
        ) from None


def list_deliveries(channel: Channel) -> QuerySet[Delivery]:
    """List deliveries, newest first, with their alerts and the users who resent them."""
    found = Delivery.objects.filter(channel=channel).select_related("alert__pipeline").prefetch_related("again")
    return found.order_by(*NEWEST_FIRST)


def get_delivery(channel: Channel, key: UUID | str) -> Delivery:
    """Return a delivery of this channel. Raises FlowError."""
    try:
        return list_deliveries(channel).get(key=UUID(str(key)))
    except (Delivery.DoesNotExist, ValueError):
        raise FlowError(
            "delivery.unknown",
            f"Channel {channel.name} has no message {str(key)!r}.",
            hint=f"Its log has the messages of the last {RETENTION_DAYS} days.",
        ) from None


def count_by_state(channels: Sequence[Channel]) -> dict[UUID, dict[str, int]]:
    """Count each channel's deliveries by state, 0 included, for the retained log. One query."""
    counts: dict[UUID, dict[str, int]] = {channel.pk: dict.fromkeys(DeliveryState.values, 0) for channel in channels}
    found = Delivery.objects.filter(channel__in=channels).order_by().values_list("channel", "state")
    for channel, state, count in found.annotate(Count("pk")):
        counts[channel][state] = count
    return counts
