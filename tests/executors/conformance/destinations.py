"""The destinations that the conformance cases run into."""

from __future__ import annotations

import pytest

from executors.destinations.postgres import PostgresDestination
from tests.destinations.jsonl.handler import JsonlDestination
from tests.destinations.jsonl.world import JsonlWorld
from tests.executors.conformance.world import World

WORLDS: dict[str, type[World]] = {"postgres": World, "jsonl": JsonlWorld}
_HANDLERS = {"postgres": PostgresDestination, "jsonl": JsonlDestination}

every_destination = pytest.mark.parametrize(
    ("destination", "mode"),
    [(name, mode) for name, one in _HANDLERS.items() for mode in sorted(one.capabilities.load_modes)],
    indirect=["destination"],
)
"""A case of every load mode of every destination."""
