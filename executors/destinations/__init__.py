"""The table of destinations, named by dotted path so that only the one in use is loaded."""

from __future__ import annotations

from importlib import import_module

from executors.destinations.base import DestinationHandler
from executors.errors import Terminal
from ir.kinds import KindTable
from ir.nodes import Target

DESTINATIONS: KindTable[str] = KindTable(
    "target connector",
    (
        ("postgres", "executors.destinations.postgres:PostgresDestination"),
        ("delta", "executors.destinations.delta:DeltaDestination"),
    ),
)


def load_destination(target: Target) -> DestinationHandler:
    """Return the handler of a target node. Raises Terminal `kind.not_available`."""
    if target.connector not in DESTINATIONS:
        raise Terminal(
            "kind.not_available",
            f"The target connector {target.connector!r} cannot run yet; {', '.join(DESTINATIONS)} can.",
            hint="Choose another connector.",
            node=target.id,
        )
    module, _, name = DESTINATIONS[target.connector].partition(":")
    handler: DestinationHandler = getattr(import_module(module), name)()
    return handler
