"""Backfills of a world: the plan, the runs of its chunks, and the end, each as the runs of the engine."""

from __future__ import annotations

import uuid
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from executors.model import BackfillMark, Chunk, ChunkJob, ChunkPlan, ChunkRange, LoadedChunk
from executors.report import RunReport
from executors.runs.backfill import finish_backfill, load_chunk, plan_backfill
from tests.executors.conformance.world import World, target_of


@dataclass
class Filling:
    """A backfill of one document."""

    world: World
    document: Mapping[str, Any]
    range: ChunkRange | None = None
    planned: RunReport = field(init=False)
    plan: ChunkPlan = field(init=False)
    loaded: list[LoadedChunk] = field(default_factory=list)

    def __post_init__(self) -> None:
        job = self.world.job(self.document, chunk_range=self.range)
        self.planned = plan_backfill(job, self.world.memory.ports())
        assert self.planned.plan is not None
        self.plan = self.planned.plan

    def job(self, chunk: Chunk, *, run_id: str | None = None, attempt: int = 1, replaces: bool = False) -> Any:
        of_chunk = ChunkJob(chunk, f"{1 if self.range is None else 2}.{chunk.ordinal}", self.plan.type, replaces)
        return self.world.job(self.document, run_id, attempt, chunk=of_chunk)

    def load(self, chunk: Chunk, *, run_id: str | None = None, attempt: int = 1, replaces: bool = False) -> RunReport:
        job = self.job(chunk, run_id=run_id, attempt=attempt, replaces=replaces)
        report = load_chunk(job, self.world.memory.ports())
        self.loaded.append(LoadedChunk(chunk, target_of(report).rows_read or 0, job.run_id))
        return report

    def load_all(self, chunks: Iterable[Chunk] | None = None, *, replaces: bool = False) -> list[RunReport]:
        return [self.load(chunk, replaces=replaces) for chunk in (self.plan.chunks if chunks is None else chunks)]

    def finish(self, *, run_id: str | None = None, attempt: int = 1) -> RunReport:
        plan = self.plan
        mark = BackfillMark(plan.column, plan.type, plan.cut, plan.mark, tuple(self.loaded))
        job = self.world.job(self.document, run_id or str(uuid.uuid4()), attempt, backfill_mark=mark)
        return finish_backfill(job, self.world.memory.ports())


def filled(world: World, document: Mapping[str, Any]) -> Filling:
    """Run a whole backfill."""
    filling = Filling(world, document)
    filling.load_all()
    filling.finish()
    return filling
