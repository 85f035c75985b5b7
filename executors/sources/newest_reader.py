"""Reads the newest files of a source, for samples."""

from __future__ import annotations

from collections.abc import Sequence

from executors.model import RunJob
from executors.ports import Ports
from executors.reading import Reading, read_files
from executors.report import RunWarning
from executors.runs.names import LIST, SCAN
from executors.runs.target_run import TargetRun
from executors.sources import load_file_source
from executors.sources.base import SourceContext
from executors.sources.file_discovery import Scanner
from executors.sources.file_findings import report_others
from executors.sources.newest import find_newest
from ir.nodes import Source

ENOUGH_BYTES = 64 << 20
"""The total size of the newest files that are read; at least one file is read."""


class NewestFilesReader:
    """Reads the newest files of a source, whether or not they were loaded. Nothing is claimed."""

    def __init__(self, job: RunJob, ports: Ports, scan: Scanner) -> None:
        self._job, self._ports, self._scan = job, ports, scan
        self._warnings: dict[str, list[RunWarning]] = {}

    def read(
        self, source: Source, target_run: TargetRun, target_runs: Sequence[TargetRun], *, again: bool = False
    ) -> Reading | None:
        handler = load_file_source(source, SourceContext.of(self._job, source, read_only=True))
        self._ports.events.step(LIST.name, source.id)
        newest = find_newest(source, handler, self._ports.units.arrived_whole, ENOUGH_BYTES)
        warnings = self._warnings[source.id] = []
        for archive, names in newest.unread:
            report_others(source, archive, names, warnings, self._ports.events)
        self._ports.events.step(SCAN.name, source.id)
        return read_files(source, self._scan(source, newest.files, handler.reader), handler.reader)

    def warnings_of(self, source: Source) -> Sequence[RunWarning]:
        return self._warnings.get(source.id, ())

    def nothing_new(self, source: Source) -> str:
        return "The source was empty."

    def archive_loaded(self, source: Source, target_runs: Sequence[TargetRun]) -> None:
        """Nothing was claimed."""

    def archive_failed(self, source: Source, reason: str) -> None:
        """Nothing was claimed."""

    def requeue(self, source: Source) -> None:
        """Nothing was claimed."""

    def interrupt(self) -> None:
        """Listing and scanning end with their Spark job."""
