"""The interface of a channel kind. Pages, the API and the command line are generated from it.

The command line imports kinds before Django is set up, so they import no models at module level.
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
    """The given fields do not form a valid channel."""


class Address(Protocol):
    """The destination of a channel with everything needed to send: one dataclass per kind."""

    kind: ClassVar[str]
    __dataclass_fields__: ClassVar[dict[str, Any]]


@dataclass(frozen=True, slots=True)
class Option:
    """An option of `flow channel add`. `read` returns the fields that the option's value sets if it sets several."""

    flag: str
    metavar: str
    help: str
    read: Callable[[str], dict[str, Any]] | None = None


@dataclass(frozen=True, slots=True)
class ChannelField:
    """A field of an address; `name` is its attribute. `choices` are pairs of value and title, the default first.

    A secret field can be replaced; its title names it. Responses never contain fields that are secret or `is_private`.
    `is_changeable` fields can change after the channel was added. `max_length` is in characters.
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
    """A kind of channel. `label` is its display name; `address` is its dataclass with the given `fields`. On the
    command line, the option of the first field selects the kind.

    `check` raises InvalidChannel for an address that cannot receive messages. `public_settings` returns the public part
    of the address, which the channel stores as its settings, and `public_fields` describes those settings. `recipient`
    returns a short description of the destination from the settings. `error_fields` maps an error code to its field.

    `send` sends up to `most_at_once` messages under one key within a limited time. It raises Failure and returns a
    remark to record, if any. `secret_goes_to` returns the part of an address that receives the secret; after a change
    of that part the user must enter the secret again.
    """

    label: str
    address: type[Any]
    fields: tuple[ChannelField, ...]
    public_fields: tuple[ChannelField, ...]
    most_at_once: int
    check: Callable[[Any], None]
    public_settings: Callable[[Any], dict[str, Any]]
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
        """The replaceable secret field, or None if the kind has no secret."""
        return next((field for field in self.fields if field.is_secret), None)

    @property
    def changes(self) -> tuple[ChannelField, ...]:
        """The changeable fields other than the secret."""
        return tuple(field for field in self.fields if field.is_changeable)
