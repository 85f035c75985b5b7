"""The data of a held load beyond its columns: why it is held, what it would change, and what is staged."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from executors.api import Held, Reason, StagedLoad
from executors.report import Effect
from flowapp.runs.stored_report import without_values
from ir.stored_json import StoredJson


@dataclass(frozen=True, slots=True)
class HoldRecord:
    """The data of a held load: counts, never a value of a row. `staged` is what a later attempt needs to load the
    rows."""

    reasons: tuple[Reason, ...]
    effect: Effect
    staged: StagedLoad

    @classmethod
    def of(cls, held: Held) -> HoldRecord:
        return cls(tuple(held.reasons), without_values(held.effect), held.staged)

    def to_json(self) -> dict[str, Any]:
        """Return the record as JSON with its format version."""
        return _FORMAT.dump(self)

    @classmethod
    def from_json(cls, stored: Mapping[str, Any]) -> HoldRecord:
        """Read a stored record. Raises FlowError `stored.version_unknown`."""
        return _FORMAT.load(stored)


_FORMAT = StoredJson("record of a held load", HoldRecord, 1)
