"""The steps of a run's attempts with their times and rows, as the run stores them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from datetime import datetime
from typing import Any

from django.utils import timezone

LONGEST_NOTE = 500
MOST_STEPS = 200
"""The maximum number of steps that a run stores; older ones are dropped."""


@dataclass(frozen=True, slots=True)
class StepTime:
    """One step of one attempt. `ms` is None until it has ended, `rows` is None if it counts none. `note` says
    in a few words what it has read."""

    attempt: int
    name: str
    node: str
    began: str
    ms: int | None = None
    rows: int | None = None
    note: str = ""

    @property
    def began_at(self) -> datetime:
        return datetime.fromisoformat(self.began)

    @property
    def seconds(self) -> float | None:
        return None if self.ms is None else self.ms / 1000

    @property
    def rows_per_second(self) -> int | None:
        return round(self.rows * 1000 / self.ms) if self.rows and self.ms else None


class Timeline:
    """The steps of a run, to which one attempt adds its own."""

    def __init__(self, stored: Sequence[Mapping[str, Any]], attempt: int) -> None:
        self._steps = read_timeline(stored)
        self._attempt = attempt

    def enter(self, name: str, node: str) -> None:
        self.close()
        self._steps.append(StepTime(self._attempt, name, node, timezone.now().isoformat()))

    def count(self, name: str, rows: int) -> None:
        """Set the rows of the current step if it has that name."""
        self._set(name, rows=rows)

    def describe(self, name: str, note: str) -> None:
        """Set the note of the current step if it has that name."""
        self._set(name, note=note[:LONGEST_NOTE])

    def _set(self, name: str, **values: Any) -> None:
        if self._steps and self._steps[-1].name == name and self._is_open(self._steps[-1]):
            self._steps[-1] = replace(self._steps[-1], **values)

    def close(self) -> None:
        """End the current step of this attempt."""
        if self._steps and self._is_open(last := self._steps[-1]):
            ms = round((timezone.now() - last.began_at).total_seconds() * 1000)
            self._steps[-1] = replace(last, ms=max(0, ms))

    def _is_open(self, step: StepTime) -> bool:
        return step.ms is None and step.attempt == self._attempt

    def to_json(self) -> list[dict[str, Any]]:
        return [asdict(step) for step in self._steps[-MOST_STEPS:]]


def read_timeline(stored: Sequence[Mapping[str, Any]]) -> list[StepTime]:
    return [StepTime(**step) for step in stored]
