"""What a kind of channel declares. Pages, the API and the command line are made from it.

Kinds are imported by the command line before Django is set up, so they import no models at module level.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Literal, Protocol

from ir.errors import FlowError

if TYPE_CHECKING:
    from flowapp.channels.message import Message

FieldType = Literal["text", "lines", "headers", "choice", "port"]
"""A text, a list of texts, a mapping of texts, one of the choices, or a port number (0: the default)."""


class InvalidChannel(FlowError):
    """What was given cannot become a channel."""


class Address(Protocol):
    """Where a channel sends, and all that it takes to do so: a dataclass for each kind."""

    kind: ClassVar[str]
    __dataclass_fields__: ClassVar[dict[str, Any]]


@dataclass(frozen=True, slots=True)
class Option:
    """An option of `flow channel add`. `read` gives the fields that its value holds, if that is more than its own."""

    flag: str
    metavar: str
    help: str
    read: Callable[[str], dict[str, Any]] | None = None


@dataclass(frozen=True, slots=True)
class ChannelField:
    """A field of an address, by its name there. `choices` are pairs of a value and its title, the default first.

    A secret field is the one that can be replaced; its title names it. What is secret or `is_private` is never sent
    back. `is_changeable` fields can be changed after the channel was added. `max_length` is in characters.
    """

    name: str
    title: str
    type: FieldType = "text"
    help: str = ""
    required: bool = True
    max_length: int = 2000
    choices: tuple[tuple[str, str], ...] = ()
    is_secret: bool = False
    is_private: bool = False
    is_changeable: bool = False
    option: Option | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ChannelKind:
    """`label` names it to people; `address` is its dataclass, made of `fields`. The option of the first field selects
    the kind on the command line.

    `check` raises InvalidChannel for an address that no message could be sent to. `shown` gives what of it may be
    seen, which is stored as the channel's settings, and `shows` describes that; `recipient` says in a few words, from
    the settings, where messages go. `error_fields` names the field that an error code is about.

    `send` tells up to `most_at_once` messages under one key, within a bounded time: it raises Failure, and answers
    what is worth a note. `secret_goes_to` tells of an address to whom the secret is told: nobody else gets it without
    it being entered again.
    """

    label: str
    address: type[Any]
    fields: tuple[ChannelField, ...]
    shows: tuple[ChannelField, ...]
    most_at_once: int
    check: Callable[[Any], None]
    shown: Callable[[Any], dict[str, Any]]
    recipient: Callable[[Mapping[str, Any]], str]
    send: Callable[[Mapping[str, Any], Sequence[Message], str], str]
    error_fields: Mapping[str, str]
    secret_goes_to: Callable[[Any], Hashable] = lambda address: None

    @property
    def name(self) -> str:
        name: str = self.address.kind
        return name

    @property
    def secret(self) -> ChannelField | None:
        """The field whose value can be replaced, if the kind has a secret."""
        return next((field for field in self.fields if field.is_secret), None)

    @property
    def changes(self) -> tuple[ChannelField, ...]:
        """The fields that can be changed beside the secret."""
        return tuple(field for field in self.fields if field.is_changeable)
