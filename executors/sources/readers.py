"""Reads sources in a run. Each source is opened once, so that all its targets read the same data."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from executors.reading import Reading
from executors.report import RunWarning
from executors.runs.target_run import TargetRun
from ir.connectors import CONNECTORS
from ir.nodes import Source


class SourceReader(Protocol):
    """Reads the sources of a run, of one kind or of all kinds."""

    def read(
        self, source: Source, target_run: TargetRun, target_runs: Sequence[TargetRun], *, again: bool = False
    ) -> Reading | None:
        """Return the data of a source that a target has to load, None if nothing is new for it, or if there is no data.
        With `again`, data that it has loaded before is read too. `target_runs` are all targets of the source."""

    def warnings_of(self, source: Source) -> Sequence[RunWarning]:
        """Return the warnings about a source that has been read."""

    def nothing_new(self, source: Source) -> str:
        """Return why there was nothing to load."""

    def archive_loaded(self, source: Source, target_runs: Sequence[TargetRun]) -> None:
        """Archive the claimed data. Every target of the source has been loaded, now or by an earlier attempt."""

    def archive_failed(self, source: Source, reason: str) -> None:
        """Archive the claimed data of the source as failed, because another load would fail again."""

    def requeue(self, source: Source) -> None:
        """Return the claimed data of the source to its original place, because it may be loaded later."""

    def interrupt(self) -> None:
        """Interrupt reading, from another thread. The reader raises."""


class SourceReaders:
    """Delegates each source to the reader of its kind."""

    def __init__(self, files: SourceReader, snapshots: SourceReader) -> None:
        self._files, self._snapshots = files, snapshots

    def _of(self, source: Source) -> SourceReader:
        return self._snapshots if CONNECTORS[source.connector].reads == "snapshot" else self._files

    def read(
        self, source: Source, target_run: TargetRun, target_runs: Sequence[TargetRun], *, again: bool = False
    ) -> Reading | None:
        return self._of(source).read(source, target_run, target_runs, again=again)

    def warnings_of(self, source: Source) -> Sequence[RunWarning]:
        return self._of(source).warnings_of(source)

    def nothing_new(self, source: Source) -> str:
        return self._of(source).nothing_new(source)

    def archive_loaded(self, source: Source, target_runs: Sequence[TargetRun]) -> None:
        self._of(source).archive_loaded(source, target_runs)

    def archive_failed(self, source: Source, reason: str) -> None:
        self._of(source).archive_failed(source, reason)

    def requeue(self, source: Source) -> None:
        self._of(source).requeue(source)

    def interrupt(self) -> None:
        self._files.interrupt()
        self._snapshots.interrupt()
