"""How the tests register the destination `jsonl`, and a world whose target it is."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import date
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from executors.destinations import DESTINATIONS
from executors.model import Connection
from ir.connectors import TARGET_CONNECTORS
from ir.connectors.base import TargetConnector
from ir.load_modes import LOAD_MODES
from tests.destinations.jsonl.store import JsonlTable
from tests.executors.conformance.world import World


def register(monkeypatch: pytest.MonkeyPatch) -> None:
    """Add the destination to the table of each layer, as long as the test runs. Its connector promises everything, so
    that documents reach the engine, which refuses what the handler cannot do."""
    sentence = "A folder with files of JSON lines."
    connector = TargetConnector("jsonl", "Folder", "folders", sentence, ("postgres",), frozenset(LOAD_MODES))
    monkeypatch.setitem(TARGET_CONNECTORS._kinds, "jsonl", connector)
    monkeypatch.setitem(DESTINATIONS._kinds, "jsonl", "tests.destinations.jsonl.handler:JsonlDestination")


TYPES = {"id": "integer", "name": "string", "amount": "decimal(10,2)", "day": "date", "ok": "boolean"}
"""A table that is a folder has no types of its own."""


def folder_of(path: Path) -> Connection:
    """The connection of a folder for tables."""
    return Connection("warehouse", "localhost", 5432, str(path / "lake"), "nobody")


class JsonlWorld(World):
    """The same documents into a folder. The source declares the types of the table's columns."""

    names: Sequence[str] = ("id", "name")

    def create_table(self, statement: str) -> None:
        """A load makes it; its columns are noted."""
        self.names = [name for name in TYPES if f"{name} " in statement]

    def rows(self, columns: str = "*", table: str = "t") -> list[tuple[Any, ...]]:
        names = self.names if columns == "*" else columns.split(", ")
        return sorted(tuple(_read(name, row[name]) for name in names) for row in self.loaded())

    def document(self, **about: Any) -> dict[str, Any]:
        columns = [{"name": name, "type": TYPES[name]} for name in self.names]
        document = super().document(**{"quarantine": False, "columns": columns, **about})
        document["nodes"][-1]["connector"] = "jsonl"
        return document

    def loaded(self) -> list[dict[str, Any]]:
        """The rows of the table `t`."""
        job = self.job(self.document())
        return JsonlTable.of(job, next(iter(job.pipeline.targets()))).rows()


def _read(name: str, value: Any) -> Any:
    readers = {"amount": Decimal, "day": date.fromisoformat}
    return readers[name](value) if name in readers and value is not None else value
