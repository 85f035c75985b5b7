"""How far a backfill is: counts of chunks, throughput, and when it will end at the present speed."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.db.models import Max, Min, Sum

from flowapp.backfills.advancing import count_statuses
from flowapp.backfills.models import COMPLETE, Backfill, Chunk, ChunkStatus
from flowapp.backfills.phases import Phase
from flowapp.backfills.rates import requests_used
from flowapp.backfills.selectors import has_backfill, is_new, newest_backfill
from flowapp.backfills.staleness import list_outdated
from flowapp.clock import Now
from flowapp.pipelines.models import Pipeline
from flowapp.runs.models import ACTIVE
from ir.backfill import parse_rate

LEAST_RECENT = 20
"""The throughput is that of the newest chunks: so many, or three for each parallel chunk if these are more."""


@dataclass(frozen=True, slots=True)
class Throughput:
    """The speed of the newest chunks of the current run. `seconds_per_chunk` counts parallel chunks together."""

    rows_per_sec: float
    bytes_per_sec: float | None
    seconds_per_chunk: float


@dataclass(frozen=True, slots=True)
class Progress:
    """The state of a pipeline's newest backfill. `phase` is None for a pipeline without one. `is_active` means that its
    run has not ended. `outdated` is the number of loaded chunks that the newest document would load in another way."""

    pipeline: Pipeline
    backfill: Backfill | None
    phase: Phase | None
    statuses: Counter[str]
    throughput: Throughput | None
    eta_seconds: int | None
    rate_budget: str | None
    rate_used: int | None
    outdated: int = 0

    @property
    def total(self) -> int:
        return sum(self.statuses.values()) - self.superseded

    @property
    def done(self) -> int:
        return sum(self.statuses[status] for status in COMPLETE)

    @property
    def empty(self) -> int:
        return self.statuses[ChunkStatus.EMPTY]

    @property
    def running(self) -> int:
        return self.statuses[ChunkStatus.RUNNING]

    @property
    def pending(self) -> int:
        return self.statuses[ChunkStatus.PENDING]

    @property
    def failed(self) -> int:
        return self.statuses[ChunkStatus.FAILED]

    @property
    def superseded(self) -> int:
        return self.statuses[ChunkStatus.SUPERSEDED]

    @property
    def counts(self) -> list[tuple[str, int]]:
        """Return the numbers of chunks with their labels, for the page."""
        found = [("Loaded", self.done), ("Running", self.running), ("Pending", self.pending), ("Failed", self.failed)]
        return [*found, *([("Superseded", self.superseded)] if self.superseded else ())]

    @property
    def rows_per_sec(self) -> int:
        return round(self.throughput.rows_per_sec) if self.throughput else 0

    @property
    def percent(self) -> float:
        """Return the share of loaded chunks, in percent, rounded down so that 100 means all."""
        return int(1000 * self.done / self.total) / 10 if self.total else 0.0

    @property
    def is_paused(self) -> bool:
        return self.backfill is not None and self.backfill.paused

    @property
    def is_active(self) -> bool:
        run = self.backfill.run if self.backfill else None
        return run is not None and run.state in ACTIVE

    @property
    def error(self) -> dict[str, str] | None:
        """Return why the backfill has stopped, None while it goes on and once all is loaded."""
        run = self.backfill.run if self.backfill and not self.backfill.is_loaded else None
        if run is None or run.state in ACTIVE or not run.error_code:
            return None
        return {"code": run.error_code, "message": run.error_message, "hint": run.error_hint}

    @property
    def rate_used_pct(self) -> int | None:
        if self.rate_budget is None or self.rate_used is None:
            return None
        return round(100 * self.rate_used / parse_rate(self.rate_budget).requests)


def get_progress(pipeline: Pipeline) -> Progress:
    backfill = newest_backfill(pipeline)
    written = Pipeline.objects.values_list("backfill", flat=True).get(pk=pipeline.pk) or {}
    rate_budget = written.get("rateBudget")
    statuses = count_statuses(backfill) if backfill else Counter[str]()
    throughput = measure_throughput(backfill) if backfill else None
    return Progress(
        pipeline,
        backfill,
        _phase_of(pipeline, backfill),
        statuses,
        throughput,
        _eta(backfill, statuses, throughput),
        rate_budget,
        requests_used(str(pipeline.pk), parse_rate(rate_budget)) if rate_budget else None,
        list_outdated(backfill).count() if backfill else 0,
    )


def _phase_of(pipeline: Pipeline, backfill: Backfill | None) -> Phase | None:
    if backfill is not None:
        return Phase(backfill.phase)
    if not has_backfill(pipeline):
        return None
    return Phase.PLANNING if is_new(pipeline) else Phase.STREAMING


def measure_throughput(backfill: Backfill) -> Throughput | None:
    """Return the speed of the newest loaded chunks of the backfill's run; None before the first one."""
    if backfill.run is None:
        return None
    loaded = Chunk.objects.filter(backfill=backfill, run__parent=backfill.run, status__in=COMPLETE)
    newest = loaded.order_by("-completed_at")[: max(LEAST_RECENT, 3 * backfill.parallelism)]
    keys = list(newest.values_list("pk", flat=True))
    sums = Chunk.objects.filter(pk__in=keys).aggregate(
        since=Min("started_at"), until=Max("completed_at"), rows=Sum("rows_read"), bytes=Sum("bytes")
    )
    if not keys or sums["since"] is None or sums["until"] is None:
        return None
    until = _now(backfill) if backfill.run.is_parked else sums["until"]
    seconds = max((until - sums["since"]).total_seconds(), 0.001)
    size = sums["bytes"]
    return Throughput((sums["rows"] or 0) / seconds, None if size is None else size / seconds, seconds / len(keys))


def _now(backfill: Backfill) -> datetime:
    """Return the time of the database, by whose clock chunks start and end."""
    return Backfill.objects.annotate(now=Now()).values_list("now", flat=True).get(pk=backfill.pk)


def _eta(backfill: Backfill | None, statuses: Counter[str], throughput: Throughput | None) -> int | None:
    if backfill is None or backfill.run is None or backfill.paused or throughput is None or not backfill.run.is_parked:
        return None
    left = statuses[ChunkStatus.PENDING] + statuses[ChunkStatus.RUNNING]
    return round(left * throughput.seconds_per_chunk)


def status_document(progress: Progress) -> dict[str, Any]:
    """Return the state for programs."""
    backfill, speed = progress.backfill, progress.throughput
    started = backfill.started_at if backfill else None
    return {
        "pipeline_id": progress.pipeline.slug,
        "phase": progress.phase,
        "paused": progress.is_paused,
        "run": str(backfill.run.pk) if backfill and backfill.run else None,
        "error": progress.error,
        "chunks": {
            "done": progress.done,
            "running": progress.running,
            "pending": progress.pending,
            "failed": progress.failed,
            "empty": progress.empty,
            "outdated": progress.outdated,
            "total": progress.total,
        },
        "throughput": {
            "rows_per_sec": round(speed.rows_per_sec, 1) if speed else None,
            "bytes_per_sec": round(speed.bytes_per_sec) if speed and speed.bytes_per_sec is not None else None,
        },
        "eta_seconds": progress.eta_seconds,
        "started_at": started.isoformat().replace("+00:00", "Z") if started else None,
        "rate_budget": progress.rate_budget,
        "rate_budget_consumed_pct": progress.rate_used_pct,
    }
