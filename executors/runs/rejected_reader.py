"""Reads rejected rows as the source of a run."""

from __future__ import annotations

from collections.abc import Sequence

from executors.model import RowsRef, RunJob
from executors.reading import Reading
from executors.report import RunWarning
from executors.runs.target_run import TargetRun
from ir.nodes import Source


class RejectedRowsReader:
    """One source whose rows come from quarantine. It has no load units."""

    def __init__(self, job: RunJob, ref: RowsRef) -> None:
        self._job, self._ref = job, ref

    def read(
        self, source: Source, target_run: TargetRun, target_runs: Sequence[TargetRun], *, again: bool = False
    ) -> Reading | None:
        _, inputs = target_run.handler.rejected_rows().choose(self._job, target_run, self._ref)
        return next((reading for path, reading in inputs if path.source.id == source.id), None)

    def warnings_of(self, source: Source) -> Sequence[RunWarning]:
        return ()

    def nothing_new(self, source: Source) -> str:
        return "None of the rows can be loaded."

    def archive_loaded(self, source: Source, target_runs: Sequence[TargetRun]) -> None:
        """Nothing was claimed."""

    def archive_failed(self, source: Source, reason: str) -> None:
        """Nothing was claimed."""

    def requeue(self, source: Source) -> None:
        """Nothing was claimed."""

    def interrupt(self) -> None:
        """Nothing needs to be interrupted, because reading is fast."""
