"""The kinds of channel, one module each."""

from __future__ import annotations

from flowapp.channels.kinds import email, webhook
from flowapp.channels.kinds.base import ChannelKind
from ir.kinds import KindTable

CHANNEL_KINDS: KindTable[ChannelKind] = KindTable(
    "channel kind", ((kind.name, kind) for kind in (email.KIND, webhook.KIND))
)
