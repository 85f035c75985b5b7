"""An engine without Spark and without a target, for tests of the order of runs."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from executors.api import Ports
from executors.errors import Failure, Terminal
from executors.model import BackfillMark, Chunk, ChunkPlan, ChunkRange, RunJob
from executors.report import NodeReport, RunReport, RunWarning

if TYPE_CHECKING:
    from flowapp.pipelines.models import Pipeline
    from flowapp.runs.models import Run

ROWS = 10


def plan_of(chunks: int, parallelism: int = 2, range_: ChunkRange | None = None) -> ChunkPlan:
    """A plan with chunks of 30 values each, or with one chunk for the range of a rewind."""
    found = tuple(Chunk(n, "at", str(30 * (n - 1)), str(30 * n)) for n in range(1, chunks + 1))
    if range_ is not None:
        found = (Chunk(1, "at", range_.lower, range_.upper),)
    return ChunkPlan("monotonic", "at", "integer", str(30 * chunks), str(30 * chunks), found, parallelism, 10 * chunks)


@dataclass
class HistoryEngine:
    """Plans `chunks` chunks, or those of `plan`, and loads ROWS rows with each. The chunks in `failing` fail; each of
    the others has the `warning`, if there is one."""

    chunks: int = 3
    parallelism: int = 2
    failing: set[int] = field(default_factory=set)
    failure: Failure | None = None
    plan: ChunkPlan | None = None
    warning: str = ""
    jobs: list[RunJob] = field(default_factory=list)

    def __call__(self, job: RunJob, ports: Ports) -> RunReport:
        self.jobs.append(job)
        if self.failure is not None:
            raise self.failure
        if job.backfill_mark is not None:
            return RunReport()
        if job.chunk is None:
            return RunReport(plan=self.plan or plan_of(self.chunks, self.parallelism, job.chunk_range))
        if job.chunk.chunk.ordinal in self.failing:
            raise Terminal("source.unreadable", "The source cannot be read.")
        counts = {"rows_read": ROWS, "rows_rejected": 1, "rows_loaded": ROWS - 1, "rows_inserted": ROWS - 1}
        node = NodeReport("load", "target", rows_in=ROWS, rows_out=ROWS - 1, **counts)
        warnings = [RunWarning("rows.older", "load", self.warning)] if self.warning else []
        return RunReport(nodes=[node], warnings=warnings, staged_bytes=8192)

    @property
    def mark(self) -> BackfillMark:
        """The mark of the last end of a backfill."""
        return next(job.backfill_mark for job in reversed(self.jobs) if job.backfill_mark is not None)


def execute(run: Run, engine: HistoryEngine) -> Run:
    """Claim and execute one attempt of a run."""
    from flowapp.runs.dispatch import execute_claimed
    from flowapp.runs.leases import claim_run

    claim = claim_run(run.pk, "worker")
    assert claim is not None, run.state
    execute_claimed(claim, engine)
    run.refresh_from_db()
    return run


def execute_all(pipeline: Pipeline, engine: HistoryEngine, most: int = 1000) -> int:
    """Execute queued runs of a pipeline, one after the other, until there is none; return their number."""
    from flowapp.runs.models import CLAIMABLE, Run

    done = 0
    while done < most and (
        run := Run.objects.filter(pipeline=pipeline, state__in=CLAIMABLE).order_by("queued_at").first()
    ):
        execute(run, engine)
        done += 1
    return done
