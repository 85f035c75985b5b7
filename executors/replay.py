"""A replay: rejected rows go through ops, rules and sink as they stand now, and are loaded beside what is there.

It is a run of its own, with fence, staging, one transaction and a marker. The mark of an incremental target stays where
it is; a target that is replaced by its runs has the rows until the next one. How rows get there is in `replay_load`.
"""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import ExitStack

from executors.engine import PipelineRun, carry_out
from executors.errors import Failure, Terminal
from executors.model import LoadCommit, RowsRef, RunJob, RunReport
from executors.ports import Ports
from executors.postgres import meta
from executors.postgres.client import translate
from executors.postgres.quarantined import Owner
from executors.postgres.replay import close_repeats
from executors.postgres.replay_results import keep_results_of_nothing
from executors.rejected_rows import RejectedRowsReader
from executors.replay_load import RecheckLoad, RejectedRows, ReplayLoad
from executors.replay_path import replay_path, require_replayable
from executors.runs.target_run import TargetRun
from ir.nodes import Target
from ir.pipeline import Path


def replay_rows(job: RunJob, ports: Ports) -> RunReport:
    """Load the rejected rows of the job. Returns what was done; raises the `Failure` that ended it."""
    return carry_out(Replay, job, ports)


def recheck_rows(job: RunJob, ports: Ports) -> RunReport:
    """Find out what a replay would do with the rows of the job, loading nothing."""
    return carry_out(Recheck, job, ports)


class Replay(PipelineRun):
    """One attempt. Only the target of the rows takes part."""

    nothing_words = "Nothing to replay into"

    def __init__(self, job: RunJob, ports: Ports, stack: ExitStack) -> None:
        super().__init__(job, ports, stack)
        self._ref = rows_of(job)
        self._source_reader = self._rows = RejectedRowsReader(job, self._ref)

    def _targets(self) -> Iterable[Target]:
        target = self._own_target()
        require_replayable(self.job.pipeline.path_to(target), self._ref.row_from)
        return [target]

    def _own_target(self) -> Target:
        """The target as the document has it."""
        for target in self.job.pipeline.targets():
            if target.id == self._ref.node:
                return target
        raise Terminal(
            "replay.target_gone",
            f"The pipeline no longer has the target {self._ref.node!r}.",
            hint="Give it back, or ignore the rows.",
        )

    def _path_to(self, target: Target) -> Path:
        return replay_path(self.job.pipeline.path_to(target), self._ref)

    def _load_read(self, lane: TargetRun) -> LoadCommit | None:
        if rows := self._choose(lane):
            return ReplayLoad(self.job, self.ports, self.report, self._session, lane, rows).run()
        run = meta.RunRef(self.job.run_id, *self._key(lane.path.target), self.job.attempt, self.job.token)
        choice, owner = self._rows.choice, Owner(self.job.tenant, self.job.pipeline.id)
        with translate(run.node), lane.connection.transaction():
            keep_results_of_nothing(lane.connection, run, choice.left_out)
            close_repeats(lane.connection, owner, run.run_id, choice.tables, choice.repeats)
        return None

    def _choose(self, lane: TargetRun) -> RejectedRows | None:
        """The rows that can be loaded; None if there are none."""
        reading = self._read(lane)
        self.report.row_counts = self._rows.choice.left_out_counts
        return RejectedRows(self._ref, self._rows.choice, reading, self._own_target()) if reading else None

    def give_up(self, cause: Failure) -> None:
        """Nothing was taken, so nothing is to be put back."""


class Recheck(Replay):
    """The same without fence, commit or note: what was staged is dropped again."""

    def _prepare(self, lane: TargetRun) -> None:
        meta.ensure_meta(lane.connection)
        self._refuse_older_state(lane)
        self._look(lane)

    def load(self, lane: TargetRun) -> None:
        if rows := self._choose(lane):
            RecheckLoad(self.job, self.ports, self.report, self._session, lane, rows).preview()
        else:
            self._tell_nothing_new(lane)

    def finish(self) -> None:
        self.report.nothing_new = all(lane.nothing_new for lane in self.lanes)


def rows_of(job: RunJob) -> RowsRef:
    if job.rows is None:
        raise Terminal("replay.gone", "What this run was to replay is no longer known.", hint="Choose the rows again.")
    return job.rows
