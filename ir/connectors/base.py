"""What a source connector declares: the settings it takes, and what the other layers need to know of it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from ir.base import Spec
from ir.pointers import Pointer


class SourceConfig(Spec):
    """The settings of a source. Each connector derives its own type from this one or from `FilesConfig`."""

    @property
    def location(self) -> str:
        """Where the rows come from, in one line for lists of pipelines."""
        raise NotImplementedError

    def queries(self, at: Pointer) -> Iterator[tuple[Pointer, str]]:
        """The SQL queries that the source sends over its connection, each with its place; `at` is that of the
        settings."""
        yield from ()


@dataclass(frozen=True, slots=True)
class Connector:
    """A kind of system that rows come from. `config` is the type of its settings, None while the connector cannot run.

    `reads` says whether it gives files, each a load unit, or the rows of a database as of one moment. `keeps_order`
    says whether its rows come in an order of their own, in which the last one may win, `keeps_empty` that an empty
    text in it is one that somebody meant. `connection_kind` is the kind of stored connection that it needs, if any.
    `starts_with` are the settings of a new node.
    """

    name: str
    sentence: str
    config: type[SourceConfig] | None = None
    reads: Literal["files", "snapshot"] = "files"
    connection_kind: str | None = None
    keeps_order: bool = True
    keeps_empty: bool = False
    starts_with: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class TargetConnector:
    """A kind of system that rows are loaded into, through a stored connection of `connection_kind`."""

    name: str
    sentence: str
    connection_kind: str
