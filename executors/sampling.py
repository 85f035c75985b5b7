"""A sample of what comes from the source: rows as they reach the first rule, kept beside the target for a while."""

from __future__ import annotations

import time
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import replace

from executors.engine import PipelineRun, carry_out
from executors.errors import Terminal
from executors.model import FileScan, NodeReport, RunJob, RunReport, RunWarning, SourceFile
from executors.ports import Ports
from executors.postgres import meta
from executors.postgres.client import translate
from executors.postgres.meta import RunRef
from executors.postgres.samples import keep_source_sample
from executors.preview import without_effects
from executors.reading import Reading, read_files
from executors.runs.target_run import TargetRun
from executors.sources import Claimant, FileSource, load_source
from executors.sources.readers import SourceReaders
from executors.sources.snapshot_reader import SnapshotSourceReader
from executors.spark.sampling import sample_rows
from ir.connectors import config_of
from ir.connectors.files import FilesConfig
from ir.nodes import Source

MOST_ROWS = 2_000
ENOUGH_BYTES = 64 << 20
"""Of the newest files so many are looked at, and always one."""


def sample_pipeline(job: RunJob, ports: Ports) -> RunReport:
    """Look at some rows of each target's source. Nothing is fenced, claimed, moved or loaded, and whatever was loaded
    before is looked at too. Raises the `Failure` that ended it."""
    return carry_out(_Sampling, job, ports)


class _Sampling(PipelineRun):
    only_looks = True

    def __init__(self, job: RunJob, ports: Ports, stack: ExitStack) -> None:
        super().__init__(job, without_effects(ports), stack)
        self._source_reader = SourceReaders(
            _NewestFiles(self), SnapshotSourceReader(job, self.ports, stack, only_looks=True)
        )

    def scan(self, source: Source, files: Sequence[SourceFile]) -> list[FileScan]:
        return self._scan(source, files)

    def _prepare(self, lane: TargetRun) -> None:
        meta.ensure_meta(lane.connection)

    def load(self, lane: TargetRun) -> None:
        """Look at the rows of one target's source."""
        reading = self._read(lane)
        self.ports.events.step("pass", lane.path.target.id)
        rows = (
            sample_rows(self._session, lane.path, reading, MOST_ROWS)
            if reading and reading.parts and reading.fields
            else []
        )
        if reading and reading.parts and not rows:
            _stop_on_clues(lane.path.source, reading)
        names = {origin.seq: origin.name for origin in reading.origins} if reading else {}
        ref = RunRef(self.job.run_id, *self._key(lane.path.target), self.job.attempt, self.job.token)
        with translate(lane.path.target.id):
            keep_source_sample(lane.connection, ref, [(names.get(r.file, ""), r.record, r.row) for r in rows])
        self.report.row_counts[lane.path.target.id] = len(rows)
        self.ports.events.node_finished(NodeReport(lane.path.target.id, "target", rows_in=len(rows)))
        lane.done = True

    def finish(self) -> None:
        self.report.nothing_new = not any(self.report.row_counts.values())

    def give_up(self, cause: object) -> None:
        """Nothing was claimed, so nothing is to be requeued."""


def _can_be_sampled(reading: Reading) -> bool:
    return bool(reading.parts and reading.fields)


def _stop_on_clues(source: Source, reading: Reading) -> None:
    """Raise Terminal where the source's settings may be why no row could be read."""
    if clues := reading.find_clues(reading.origins):
        names = ", ".join(origin.name for origin in reading.origins[:3])
        raise Terminal(
            "source.nothing_readable",
            f"No row of {names} can be read: {'; '.join(clues)}.",
            node=source.id,
            hint="Correct the format of the source.",
        )


class _NewestFiles:
    """The newest files of a source, wherever they stand with their loads; nothing is taken."""

    def __init__(self, run: _Sampling) -> None:
        self._run = run

    def read(self, lane: TargetRun, lanes: Sequence[TargetRun]) -> Reading | None:
        source = lane.path.source
        handler: FileSource = load_source(source, self._run.job.files_folder, Claimant.of(self._run.job.pipeline))
        self._run.ports.events.step("list", source.id)
        listing = handler.list_files(time.time(), self._run.ports.units.arrived_whole)
        # Nothing is loaded, so that a file that may still be growing is better than none.
        found = listing.files or listing.unsettled
        if not found:
            config = config_of(source, FilesConfig)
            raise Terminal(
                "source.no_files",
                f"No file in {config.path!r} matches {config.pattern.value!r}.",
                node=source.id,
                hint="Put a file there or upload one. Files that were put away after their load are not looked at.",
            )
        self._run.ports.events.step("scan", source.id)
        return read_files(source, self._run.scan(source, _newest(found)))

    def warnings_of(self, source: Source) -> Sequence[RunWarning]:
        return ()

    def nothing_new(self, source: Source) -> str:
        return "There was nothing to read."

    def archive_loaded(self, source: Source, lanes: Sequence[TargetRun]) -> None:
        """Nothing was claimed."""

    def archive_failed(self, source: Source, reason: str) -> None:
        """Nothing was claimed."""

    def requeue(self, source: Source) -> None:
        """Nothing was claimed."""

    def interrupt(self) -> None:
        """Listing and scanning end with their job."""


def _newest(files: Sequence[SourceFile]) -> list[SourceFile]:
    chosen: list[SourceFile] = []
    size = 0
    for file in sorted(files, key=lambda file: -file.mtime_ns):
        if chosen and size + file.size > ENOUGH_BYTES:
            break
        chosen.append(file)
        size += file.size
    return [replace(file, seq=seq) for seq, file in enumerate(chosen)]
