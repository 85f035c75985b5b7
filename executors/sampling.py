"""A sample of what comes from the source: rows as they reach the first rule, kept beside the target for a while."""

from __future__ import annotations

from contextlib import ExitStack

from executors.engine import PipelineRun, carry_out
from executors.errors import Terminal
from executors.model import NodeReport, RunJob, RunReport
from executors.ports import Ports
from executors.postgres import meta
from executors.postgres.client import translate
from executors.postgres.meta import RunRef
from executors.postgres.samples import keep_source_sample
from executors.preview import without_effects
from executors.reading import Reading
from executors.runs.target_run import TargetRun
from executors.sources.newest_reader import NewestFilesReader
from executors.sources.readers import SourceReaders
from executors.sources.snapshot_reader import SnapshotSourceReader
from executors.spark.sampling import sample_rows
from ir.nodes import Source

MOST_ROWS = 2_000


def sample_pipeline(job: RunJob, ports: Ports) -> RunReport:
    """Look at some rows of each target's source. Nothing is fenced, claimed, moved or loaded, and whatever was loaded
    before is looked at too. Raises the `Failure` that ended it."""
    return carry_out(_Sampling, job, ports)


class _Sampling(PipelineRun):
    only_looks = True

    def __init__(self, job: RunJob, ports: Ports, stack: ExitStack) -> None:
        super().__init__(job, without_effects(ports), stack)
        newest = NewestFilesReader(job, self.ports, self._scan)
        self._source_reader = SourceReaders(newest, SnapshotSourceReader(job, self.ports, stack, only_looks=True))

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
