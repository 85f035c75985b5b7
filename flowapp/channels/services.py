"""Adding, changing, testing and removing channels. Their secrets are stored encrypted and never shown again."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

from django.db import IntegrityError, transaction
from django.db.models.functions import Now
from django.views.decorators.debug import sensitive_variables

from flowapp.accounts.models import Workspace
from flowapp.channels.courier import BUSY_SECONDS, attempt, open_secret
from flowapp.channels.kinds import CHANNEL_KINDS
from flowapp.channels.kinds.base import InvalidChannel
from flowapp.channels.kinds.email import Mailbox
from flowapp.channels.kinds.webhook import WebhookAddress
from flowapp.channels.models import Channel, Delivery, Event
from flowapp.clock import from_now
from flowapp.connections.secrets import encrypt
from flowapp.health.alerts import resolve_by
from flowapp.health.kinds import ALERT_KINDS
from flowapp.health.models import Severity

NAME = re.compile(r"[a-z][a-z0-9_-]{0,62}")
MOST_CHANNELS = 20
"""Of a workspace: each alert is written for all of them."""

Address = WebhookAddress | Mailbox


@sensitive_variables("address")
def add_channel(
    workspace: Workspace, name: str, address: Address, *, severity: str = Severity.WARNING, kinds: Sequence[str] = ()
) -> Channel:
    """Store a channel; raises FlowError. It tells of alerts that open from now on."""
    if not NAME.fullmatch(name):
        raise InvalidChannel(
            "channel.name_invalid", f"{name!r} cannot name a channel.",
            hint="A name begins with a small letter and holds up to 63 small letters, digits, - and _.",
        )  # fmt: skip
    if Channel.objects.filter(workspace=workspace).count() >= MOST_CHANNELS:
        raise InvalidChannel(
            "channel.too_many", f"A workspace has up to {MOST_CHANNELS} channels.", hint="Remove one first."
        )
    kind = CHANNEL_KINDS[address.kind]
    kind.check(address)
    channel = Channel(workspace=workspace, name=name, kind=address.kind, settings=kind.shown(address))
    channel.severity, channel.kinds = _checked(severity, kinds)
    channel.secret = _seal(asdict(address))
    try:
        with transaction.atomic():
            channel.save(force_insert=True)
    except IntegrityError:
        raise InvalidChannel(
            "channel.name_taken", f"There is a channel {name!r} already.", hint="Choose another name."
        ) from None
    return channel


def change_filter(channel: Channel, *, severity: str, kinds: Sequence[str]) -> None:
    """Tell other alerts from now on."""
    channel.severity, channel.kinds = _checked(severity, kinds)
    channel.save(update_fields=["severity", "kinds"])


@sensitive_variables("secret", "packed")
def replace_secret(channel: Channel, secret: str) -> None:
    """Store another password or signing secret; raises FlowError."""
    kind = CHANNEL_KINDS[channel.kind]
    packed = {**open_secret(channel), kind.secret_field: secret}
    kind.check(ADDRESSES[channel.kind](**packed))
    channel.secret = _seal(packed)
    channel.save(update_fields=["secret"])


def remove_channel(channel: Channel) -> None:
    """Forget a channel, its secret and its log."""
    with transaction.atomic():
        resolve_by("channel.delivered", workspace_id=channel.workspace_id, node=channel.name)
        channel.delete()


def send_test(channel: Channel) -> Delivery:
    """Send a message that says it is a test, now and once. What came of it is in the delivery."""
    delivery = Delivery.objects.create(channel=channel, event=Event.TEST, made_at=Now(), due_at=from_now(BUSY_SECONDS))
    attempt(channel, [delivery], once=True)
    delivery.refresh_from_db()
    return delivery


def _checked(severity: str, kinds: Sequence[str]) -> tuple[str, list[str]]:
    if severity not in Severity.values:
        raise InvalidChannel(
            "channel.filter_invalid",
            f"There is no severity {severity!r}.",
            hint=f"Known: {', '.join(Severity.values)}.",
        )
    known = [name for name, kind in ALERT_KINDS.items() if kind.told]
    if wrong := [kind for kind in kinds if kind not in known]:
        raise InvalidChannel(
            "channel.filter_invalid", f"No channel can tell of {', '.join(map(repr, wrong))}.",
            hint=f"Known: {', '.join(known)}.",
        )  # fmt: skip
    return severity, [kind for kind in known if kind in kinds]


def _seal(packed: dict[str, Any]) -> str:
    return encrypt(json.dumps(packed))


ADDRESSES: dict[str, Any] = {WebhookAddress.kind: WebhookAddress, Mailbox.kind: Mailbox}
