"""Where rows come into a run. Each source is opened once and pinned, so that all its targets read the same."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from executors.lane import Lane
from executors.model import RunWarning
from executors.reading import Reading
from executors.sources import SNAPSHOT_SOURCES
from ir.nodes import Source


class Intake(Protocol):
    """The sources of a run, of one kind or of all."""

    def read(self, lane: Lane, lanes: Sequence[Lane]) -> Reading | None:
        """What a target is to load, None if nothing is new for it. `lanes` are all those of its source."""

    def warnings_of(self, source: Source) -> Sequence[RunWarning]:
        """What there is to say of a source that has been read."""

    def nothing_new(self, source: Source) -> str:
        """Why there was nothing to load."""

    def put_away_loaded(self, source: Source, lanes: Sequence[Lane]) -> None:
        """Every target of the source has been loaded, now or by an earlier attempt."""

    def put_away_failed(self, source: Source, reason: str) -> None:
        """What was taken from the source would only fail again."""

    def put_back(self, source: Source) -> None:
        """What was taken from the source goes back to where it was, for it may be loaded later."""

    def interrupt(self) -> None:
        """End what is being read, from another thread; its reader fails."""


class Intakes:
    """Each source in the hands of the intake of its kind."""

    def __init__(self, files: Intake, snapshots: Intake) -> None:
        self._files, self._snapshots = files, snapshots

    def _of(self, source: Source) -> Intake:
        return self._snapshots if source.connector in SNAPSHOT_SOURCES else self._files

    def read(self, lane: Lane, lanes: Sequence[Lane]) -> Reading | None:
        return self._of(lane.path.source).read(lane, lanes)

    def warnings_of(self, source: Source) -> Sequence[RunWarning]:
        return self._of(source).warnings_of(source)

    def nothing_new(self, source: Source) -> str:
        return self._of(source).nothing_new(source)

    def put_away_loaded(self, source: Source, lanes: Sequence[Lane]) -> None:
        self._of(source).put_away_loaded(source, lanes)

    def put_away_failed(self, source: Source, reason: str) -> None:
        self._of(source).put_away_failed(source, reason)

    def put_back(self, source: Source) -> None:
        self._of(source).put_back(source)

    def interrupt(self) -> None:
        self._files.interrupt()
        self._snapshots.interrupt()
