"""Where rows come into a run. Each source is opened once and pinned, so that all its targets read the same."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from executors.model import RunWarning
from executors.reading import Reading
from executors.runs.target_run import TargetRun
from ir.connectors import CONNECTORS
from ir.nodes import Source


class SourceReader(Protocol):
    """The sources of a run, of one kind or of all."""

    def read(self, target_run: TargetRun, target_runs: Sequence[TargetRun]) -> Reading | None:
        """What a target is to load, None if nothing is new for it. `target runs` are all those of its source."""

    def warnings_of(self, source: Source) -> Sequence[RunWarning]:
        """What there is to say of a source that has been read."""

    def nothing_new(self, source: Source) -> str:
        """Why there was nothing to load."""

    def archive_loaded(self, source: Source, target_runs: Sequence[TargetRun]) -> None:
        """Every target of the source has been loaded, now or by an earlier attempt."""

    def archive_failed(self, source: Source, reason: str) -> None:
        """What was claimed of the source would only fail again."""

    def requeue(self, source: Source) -> None:
        """What was claimed of the source goes back to where it was, for it may be loaded later."""

    def interrupt(self) -> None:
        """End what is being read, from another thread; its reader fails."""


class SourceReaders:
    """Each source handled by the reader of its kind."""

    def __init__(self, files: SourceReader, snapshots: SourceReader) -> None:
        self._files, self._snapshots = files, snapshots

    def _of(self, source: Source) -> SourceReader:
        return self._snapshots if CONNECTORS[source.connector].reads == "snapshot" else self._files

    def read(self, target_run: TargetRun, target_runs: Sequence[TargetRun]) -> Reading | None:
        return self._of(target_run.path.source).read(target_run, target_runs)

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
