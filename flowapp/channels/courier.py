"""Send due deliveries. One process at a time serves a channel; temporary failures are retried with growing delays.

After a crash a message may be sent twice, under the same key. It is never sent before an older message of the same
alert.
"""

from __future__ import annotations

import json
import logging
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any
from uuid import UUID

from django.db import connections, transaction
from django.db.models import Exists, F, OuterRef, Q
from django.views.decorators.debug import sensitive_variables

from executors.errors import Terminal, Transient
from flowapp.alerts.services import raise_alert, resolve_by
from flowapp.channels.kinds import CHANNEL_KINDS
from flowapp.channels.messages import message_of
from flowapp.channels.models import Channel, Delivery, DeliveryState
from flowapp.clock import Now, from_now
from flowapp.connections.secrets import decrypt
from ir.errors import FlowError
from ir.words import counted

logger = logging.getLogger(__name__)
SENDERS = 4
BATCHES = 20
BUSY_SECONDS = 60.0
"""Longer than any kind of channel may take to send."""
REST_SECONDS = 15.0
MOST_ATTEMPTS = 8
FIRST_WAIT, LONGEST_WAIT = 30.0, 3600.0


def deliver_due() -> int:
    """Send once over all channels that have due deliveries; return how many messages the receivers accepted."""
    due = Delivery.objects.filter(state=DeliveryState.PENDING, due_at__lte=Now()).filter(_is_idle("channel__"))
    channels = list(due.order_by().values_list("channel", flat=True).distinct())
    if not channels:
        return 0
    with ThreadPoolExecutor(SENDERS) as pool:
        return sum(pool.map(_deliver_in_thread, channels))


def _deliver_in_thread(channel: UUID) -> int:
    try:
        return deliver_to(channel)
    finally:
        connections.close_all()


def _is_idle(prefix: str = "") -> Q:
    return Q(**{f"{prefix}busy_until": None}) | Q(**{f"{prefix}busy_until__lt": Now()})


def deliver_to(channel_id: UUID) -> int:
    """Send the due deliveries of one channel unless another process does. After a failure the channel pauses."""
    if not Channel.objects.filter(_is_idle(), pk=channel_id).update(busy_until=from_now(BUSY_SECONDS)):
        return 0
    taken = 0
    _give_up_worn_out(channel_id)
    for _ in range(BATCHES):
        channel = Channel.objects.select_related("workspace").filter(pk=channel_id).first()
        batch = _next_batch(channel) if channel else []
        if channel is None or not batch:  # the channel may have been removed meanwhile
            break
        if not attempt(channel, batch):
            _release(channel_id, REST_SECONDS)
            return taken
        taken += len(batch)
        _release(channel_id, BUSY_SECONDS)
    _release(channel_id, 0)
    return taken


def _give_up_worn_out(channel_id: UUID) -> None:
    """Give up deliveries that used all attempts without an outcome: each attempt ended the sending process."""
    worn = Delivery.objects.filter(
        channel=channel_id, state=DeliveryState.PENDING, attempts__gte=MOST_ATTEMPTS, due_at__lte=Now()
    )
    batch = list(worn.select_related("channel__workspace"))
    if batch:
        error = Terminal(
            "delivery.gave_up",
            f"{MOST_ATTEMPTS} attempts did not finish.",
            hint="See the scheduler's log.",
        )
        _note_failure(batch[0].channel, batch, error)


def _release(channel_id: UUID, seconds: float) -> None:
    Channel.objects.filter(pk=channel_id).update(busy_until=from_now(seconds) if seconds else None)


def _next_batch(channel: Channel) -> list[Delivery]:
    pending = Delivery.objects.filter(channel=channel, state=DeliveryState.PENDING)
    older = pending.filter(alert=OuterRef("alert"), pk__lt=OuterRef("pk"))
    due = pending.filter(due_at__lte=Now()).exclude(Exists(older)).select_related("alert__pipeline")
    return list(due.order_by("pk")[: CHANNEL_KINDS[channel.kind].most_at_once])


def attempt(channel: Channel, batch: Sequence[Delivery], *, once: bool = False) -> bool:
    """Send a batch in one message and record the result; return whether it was accepted. With `once`, a failure is not
    retried.

    The attempt is counted before it is made, so that a message that crashes its sender is not resent forever.
    """
    mine = Delivery.objects.filter(pk__in=[delivery.pk for delivery in batch], state=DeliveryState.PENDING)
    mine.update(attempts=F("attempts") + 1, due_at=from_now(BUSY_SECONDS))
    for delivery in batch:
        delivery.channel, delivery.attempts = channel, delivery.attempts + 1
    kind = CHANNEL_KINDS[channel.kind]
    try:
        note = kind.send(open_secret(channel), [message_of(delivery) for delivery in batch], str(batch[0].key))
    except FlowError as error:
        _note_failure(channel, batch, error, once=once)
        return False
    with transaction.atomic():
        mine.update(state=DeliveryState.DELIVERED, ended_at=Now(), error_code="", error_message=note)
        resolve_by("channel.delivered", workspace_id=channel.workspace_id, node=channel.name)
    return True


def _note_failure(channel: Channel, batch: Sequence[Delivery], error: FlowError, *, once: bool = False) -> None:
    """Retry a temporary failure up to a limit. A message that is given up raises an alert on the Health page, which no
    channel sends."""
    mine = Delivery.objects.filter(pk__in=[delivery.pk for delivery in batch], state=DeliveryState.PENDING)
    error_fields = {"error_code": error.code, "error_message": f"{error.message} {error.hint}".strip()[:500]}
    lost = 0
    with transaction.atomic():
        for delivery in batch:
            this = mine.filter(pk=delivery.pk)
            if isinstance(error, Transient) and delivery.attempts < MOST_ATTEMPTS and not once:
                this.update(due_at=from_now(wait_after(delivery.attempts)), **error_fields)
            else:
                lost += this.update(state=DeliveryState.FAILED, ended_at=Now(), **error_fields)
        if lost and not once:
            raise_alert(
                "channel.failing",
                "warning",
                f"{counted(lost, 'message')} could not be sent to channel {channel.name}: {error.message}",
                f"{error.hint} Then send a test from the channel's page, and resend the failed messages from its "
                f"log.".strip(),
                workspace=channel.workspace,
                node=channel.name,
            )


def wait_after(tries: int) -> float:
    """Return the seconds until the next attempt after the given number of attempts."""
    return float(min(FIRST_WAIT * 2 ** (tries - 1), LONGEST_WAIT))


@sensitive_variables()
def open_secret(channel: Channel) -> dict[str, Any]:
    """Return the channel's fields in clear text. Keep them in memory only."""
    packed: dict[str, Any] = json.loads(decrypt(channel.secret, f"channel {channel.name!r}"))
    return packed
