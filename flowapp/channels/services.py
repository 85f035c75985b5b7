"""Add, change, test and remove channels. Secrets are stored encrypted and never shown again."""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import asdict, fields
from typing import Any

from django.db import IntegrityError, transaction
from django.db.models import QuerySet
from django.views.decorators.debug import sensitive_variables

from flowapp.accounts.models import User, Workspace
from flowapp.alerts.kinds import ALERT_KINDS
from flowapp.alerts.models import Severity
from flowapp.alerts.services import resolve_by
from flowapp.channels.courier import BUSY_SECONDS, attempt, open_secret
from flowapp.channels.kinds import CHANNEL_KINDS
from flowapp.channels.kinds.base import Address, InvalidChannel
from flowapp.channels.models import Channel, Delivery, DeliveryState, Event, SentAgain
from flowapp.clock import Now, from_now
from flowapp.connections.secrets import encrypt
from ir.errors import FlowError

NAME = re.compile(r"[a-z][a-z0-9_-]{0,62}")
MOST_CHANNELS = 20
"""Of one workspace. Each alert queues a message for all of them."""


@sensitive_variables("given")
def make_address(kind: str, given: Mapping[str, Any]) -> Address:
    """Build the address of a channel of that kind from the given values; ignore values of other kinds."""
    address: type[Any] = CHANNEL_KINDS[kind].address
    made: Address = address(**{field.name: given[field.name] for field in fields(address) if field.name in given})
    return made


@sensitive_variables("address")
def add_channel(
    workspace: Workspace, name: str, address: Address, *, severity: str = Severity.WARNING, kinds: Sequence[str] = ()
) -> Channel:
    """Store a channel. It sends alerts that open from now on. Raises FlowError."""
    if not NAME.fullmatch(name):
        raise InvalidChannel(
            "channel.name_invalid",
            f"{name!r} is not a valid name for a channel.",
            hint="A name begins with a lower-case letter and has up to 63 lower-case letters, digits, - and _.",
        )
    if Channel.objects.filter(workspace=workspace).count() >= MOST_CHANNELS:
        raise InvalidChannel(
            "channel.too_many", f"A workspace can have up to {MOST_CHANNELS} channels.", hint="Remove one first."
        )
    kind = CHANNEL_KINDS[address.kind]
    kind.check(address)
    channel = Channel(workspace=workspace, name=name, kind=address.kind, settings=kind.public_settings(address))
    channel.severity, channel.kinds = _checked(severity, kinds)
    channel.secret = _encrypt(asdict(address))
    try:
        with transaction.atomic():
            channel.save(force_insert=True)
    except IntegrityError:
        raise InvalidChannel(
            "channel.name_taken", f"There is already a channel {name!r}.", hint="Choose another name."
        ) from None
    return channel


def change_filter(channel: Channel, *, severity: str, kinds: Sequence[str]) -> None:
    """Change which alerts the channel sends from now on."""
    channel.severity, channel.kinds = _checked(severity, kinds)
    channel.save(update_fields=["severity", "kinds"])


@sensitive_variables("given", "stored", "before", "address")
def change_address(channel: Channel, given: Mapping[str, Any]) -> None:
    """Change parts of a channel's address, such as its password or signing secret. A stored secret is never sent to a
    new destination. Raises FlowError."""
    kind, stored = CHANNEL_KINDS[channel.kind], open_secret(channel)
    secret = kind.secret
    require_changeable(given.keys() - {field.name for field in (*kind.changes, secret) if field})
    before, address = make_address(channel.kind, stored), make_address(channel.kind, {**stored, **given})
    kind.check(address)
    moves = kind.secret_goes_to(address) != kind.secret_goes_to(before)
    if moves and secret and secret.name not in given and stored.get(secret.name):
        word = secret.title.lower()
        raise InvalidChannel(
            "channel.secret_again",
            f"The stored {word} belongs to another server.",
            hint=f"Enter the {word} again, together with the change.",
        )
    channel.settings, channel.secret = kind.public_settings(address), _encrypt(asdict(address))
    channel.save(update_fields=["settings", "secret"])


def require_changeable(others: Collection[str]) -> None:
    """Raise InvalidChannel for changes of fields that are fixed after creation."""
    if others:
        raise InvalidChannel(
            "channel.not_changeable",
            f"{', '.join(sorted(others))} of this channel cannot be changed.",
            hint="Add a new channel, and remove this one.",
        )


def remove_channel(channel: Channel) -> None:
    """Delete a channel with its secret and its log."""
    with transaction.atomic():
        resolve_by("channel.delivered", workspace_id=channel.workspace_id, node=channel.name)
        channel.delete()


def send_test(channel: Channel) -> Delivery:
    """Send a test message immediately, without retries. The returned delivery holds the result."""
    delivery = Delivery.objects.create(channel=channel, event=Event.TEST, made_at=Now(), due_at=from_now(BUSY_SECONDS))
    attempt(channel, [delivery], once=True)
    delivery.refresh_from_db()
    return delivery


def send_again(delivery: Delivery, by_words: str, by: User | None = None) -> bool:
    """Requeue a failed message with all its attempts and record who requested it; return False if somebody else has
    just done so. If the message that its alert is resolved failed too, it is requeued as well. Raises FlowError."""
    with transaction.atomic():
        # One request at a time per channel, so that nothing is resent while the data it depends on changes.
        Channel.objects.select_for_update().get(pk=delivery.channel_id)
        delivery.refresh_from_db()
        if not delivery.can_go_again:
            if delivery.again.exists():
                return False
            raise _not_failed(delivery)
        _refuse_after_the_end(delivery)
        for message in (delivery, *_failed_end(delivery)):
            SentAgain.objects.create(delivery=message, at=Now(), by=by, by_words=by_words[:300])
            Delivery.objects.filter(pk=message.pk).update(
                state=DeliveryState.PENDING, attempts=0, due_at=Now(), ended_at=None
            )
    delivery.refresh_from_db()
    return True


def _not_failed(delivery: Delivery) -> FlowError:
    if delivery.state == DeliveryState.FAILED:
        return FlowError("delivery.is_test", "A test cannot be resent.", hint="Send a new test.")
    return FlowError(
        "delivery.not_failed",
        f"The message is {delivery.state} and cannot be resent.",
        hint="You can resend failed messages. Waiting messages are sent automatically.",
    )


def _ends_of(delivery: Delivery) -> QuerySet[Delivery]:
    """Return the "resolved" message that belongs to this "opened" message."""
    if delivery.event != Event.OPENED:
        return Delivery.objects.none()
    return Delivery.objects.filter(channel=delivery.channel_id, alert=delivery.alert_id, event=Event.RESOLVED)


def _refuse_after_the_end(delivery: Delivery) -> None:
    if _ends_of(delivery).filter(state=DeliveryState.DELIVERED).exists():
        raise FlowError(
            "delivery.over",
            "The receiver knows that the alert is resolved. Resending its start would look like a new alert.",
            hint="See the alert on the Health page.",
        )


def _failed_end(delivery: Delivery) -> list[Delivery]:
    return list(_ends_of(delivery).filter(state=DeliveryState.FAILED))


def _checked(severity: str, kinds: Sequence[str]) -> tuple[str, list[str]]:
    if severity not in Severity.values:
        raise InvalidChannel(
            "channel.filter_invalid",
            f"There is no severity {severity!r}.",
            hint=f"Known: {', '.join(Severity.values)}.",
        )
    known = [name for name, kind in ALERT_KINDS.items() if kind.is_sent]
    if wrong := [kind for kind in kinds if kind not in known]:
        raise InvalidChannel(
            "channel.filter_invalid",
            f"No channel can report {', '.join(map(repr, wrong))}.",
            hint=f"Known: {', '.join(known)}.",
        )
    return severity, [kind for kind in known if kind in kinds]


def _encrypt(packed: dict[str, Any]) -> str:
    return encrypt(json.dumps(packed))
