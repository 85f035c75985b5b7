"""The destinations that the conformance cases run into."""

from __future__ import annotations

import pytest

from executors.destinations.base import DestinationHandler
from executors.destinations.delta import DeltaDestination
from executors.destinations.postgres import PostgresDestination
from executors.spark.address import is_local
from tests.destinations.delta.world import DeltaS3World, DeltaWorld
from tests.destinations.jsonl.handler import JsonlDestination
from tests.destinations.jsonl.world import JsonlWorld
from tests.executors.conformance.world import FORMATS, World
from tests.executors.row_modes import ROW_MODES
from tests.tiers import pair

WORLDS: dict[str, type[World]] = {"postgres": World, "jsonl": JsonlWorld, "delta": DeltaWorld, "delta_s3": DeltaS3World}
_HANDLERS: dict[str, type[DestinationHandler]] = {
    "postgres": PostgresDestination,
    "delta": DeltaDestination,
    "delta_s3": DeltaDestination,
}
if is_local():  # the executors of a cluster or server have Flow, but not the package `tests`
    _HANDLERS["jsonl"] = JsonlDestination


def _modes_of(handler: type[DestinationHandler]) -> list[str]:
    return sorted(handler.capabilities.load_modes.intersection(ROW_MODES))


_CASES = [(name, mode) for name, one in _HANDLERS.items() for mode in _modes_of(one)]
every_destination = pytest.mark.parametrize(("destination", "mode"), _CASES, indirect=["destination"])
"""A case of every load mode of every destination."""

every_quarantine = pytest.mark.parametrize(
    ("destination", "mode"),
    [(name, mode) for name, mode in _CASES if _HANDLERS[name].capabilities.quarantine],
    indirect=["destination"],
)
"""The same for the destinations that store rejected rows."""


every_destination_and_format = pytest.mark.parametrize(
    ("destination", "mode", "format"),
    [
        pytest.param(name, *case.values, marks=case.marks)
        for name, one in _HANDLERS.items()
        for case in pair(_modes_of(one), FORMATS)
    ],
    indirect=["destination"],
)
"""The same with every format of files."""
