"""What a connector declares: where rows come from, and the settings it takes."""

from __future__ import annotations

from dataclasses import dataclass

from ir.base import Spec


@dataclass(frozen=True, slots=True)
class Connector:
    """A kind of system. `config` is the type of its settings, None while there is none to check them against.

    `keeps_order` says whether its rows come in an order of their own, in which the last one may win, `keeps_empty`
    that an empty text in it is one that somebody meant.
    """

    name: str
    sentence: str
    config: type[Spec] | None = None
    needs_connection: bool = False
    keeps_order: bool = True
    keeps_empty: bool = False
