"""How the tests register the destination `jsonl`, and a world whose target it is."""

from __future__ import annotations

from typing import Any

import pytest

from executors.destinations import DESTINATIONS
from ir.connectors import TARGET_CONNECTORS
from ir.connectors.base import TargetConnector
from tests.destinations.jsonl.store import JsonlTable
from tests.executors.conformance.world import World


def register(monkeypatch: pytest.MonkeyPatch) -> None:
    """Add the destination to the table of each layer, as long as the test runs."""
    connector = TargetConnector("jsonl", "A folder with files of JSON lines.", "postgres")
    monkeypatch.setitem(TARGET_CONNECTORS._kinds, "jsonl", connector)
    monkeypatch.setitem(DESTINATIONS._kinds, "jsonl", "tests.destinations.jsonl.handler:JsonlDestination")


COLUMNS = ({"name": "id", "type": "integer"}, {"name": "name", "type": "string"})
"""A table that is a folder has no types of its own."""


class JsonlWorld(World):
    """The same documents into a folder."""

    def document(self, **about: Any) -> dict[str, Any]:
        document = super().document(**{"quarantine": False, "columns": COLUMNS, **about})
        document["nodes"][-1]["connector"] = "jsonl"
        return document

    def loaded(self) -> list[dict[str, Any]]:
        """The rows of the table `t`."""
        job = self.job(self.document())
        return JsonlTable.of(job, next(iter(job.pipeline.targets()))).rows()
