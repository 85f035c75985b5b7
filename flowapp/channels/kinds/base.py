"""What differs between kinds of channel."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Protocol

from flowapp.channels.messages import Message
from ir.errors import FlowError


class InvalidChannel(FlowError):
    """What was given cannot become a channel."""


class Address(Protocol):
    """Where a channel sends, and all that it takes to do so: a dataclass for each kind."""

    kind: ClassVar[str]
    __dataclass_fields__: ClassVar[dict[str, Any]]


@dataclass(frozen=True, slots=True)
class ChannelKind:
    """`label` names it to people; `address` is its dataclass; `secret_field` is the field of that whose value is never
    shown and may be replaced, the `secret_word`.

    `check` raises InvalidChannel for fields that no message could be sent by; `shown` gives what of them may be seen.
    `changes` are the fields that may be changed beside the secret, and `secret_goes_to` tells of an address to whom the
    secret is told: nobody else gets it without it being typed again. `send` tells up to `most_at_once` messages under
    one key, within a bounded time: it raises Failure, and answers what is worth a note.
    """

    label: str
    address: type[Any]
    secret_field: str
    secret_word: str
    most_at_once: int
    check: Callable[[Any], None]
    shown: Callable[[Any], dict[str, Any]]
    send: Callable[[Mapping[str, Any], Sequence[Message], str], str]
    changes: frozenset[str] = frozenset()
    secret_goes_to: Callable[[Any], Hashable] = lambda address: None
