"""Queries for streams, and what their pages, the API and the command line show of them."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from django.db.models import Max, QuerySet, Sum
from django.utils import timezone

from flowapp.accounts.models import Workspace
from flowapp.pipelines.models import Pipeline
from flowapp.pipelines.selectors import get_pipeline
from flowapp.runs.models import ACTIVE, Run, RunKind
from flowapp.streams.models import Stream, StreamChange, StreamHour, StreamState
from flowapp.streams.watching import is_unused, lag_of, why_unused
from ir.errors import FlowError

CHART_HOURS = 24
NEWEST_CHANGES = 50
COUNTS = ("windows", "rows", "inserted", "updated", "deleted", "rejected")


@dataclass(frozen=True, slots=True)
class StreamView:
    """A stream as people see it. `status` is its state, or more exactly `starting`, `retrying` or `unused`; `lag` is in
    seconds, null before the first load. `needs_snapshot` means that only a new snapshot can continue it."""

    stream: Stream
    run: Run | None

    @property
    def pipeline(self) -> Pipeline:
        return self.stream.pipeline

    @property
    def status(self) -> str:
        stream = self.stream
        if is_unused(stream):
            return "unused"
        if stream.state != StreamState.RUNNING:
            return stream.state
        if stream.failing_since is not None:
            return "retrying"
        return "running" if self.run is not None and self.run.state == "running" else "starting"

    @property
    def why_unused(self) -> str:
        return why_unused(self.stream)

    @property
    def lag(self) -> float | None:
        return lag_of(self.stream)

    @property
    def needs_snapshot(self) -> bool:
        status = self.stream.slot.get("status")
        return status == "lost" or self.stream.code in _SNAPSHOT_CODES or (status == "missing" and not self.run)

    @property
    def holds_log(self) -> bool:
        """Whether a slot that nothing reads makes its server retain log."""
        return bool(self.stream.slot.get("retained_bytes")) and self.can_drop

    @property
    def can_drop(self) -> bool:
        is_idle = is_unused(self.stream) or self.stream.state != StreamState.RUNNING
        return self.stream.has_slot and is_idle and self.run is None


_SNAPSHOT_CODES = (
    "cdc.slot_lost",
    "cdc.slot_missing",
    "cdc.log_missing",
    "cdc.source_changed",
    "cdc.column_filled",
    "cdc.column_replaced",
    "cdc.columns_changed_inside",
    "cdc.columns_rewritten",
    "cdc.columns_unknown",
    "cdc.changes_unlogged",
    "cdc.rows_incomplete",
    "cdc.statement_logged",
    "cdc.xa_unknown",
)


def list_streams(workspace: Workspace) -> QuerySet[Stream]:
    return Stream.objects.filter(workspace=workspace).select_related("pipeline").order_by("pipeline__slug")


def view_all(streams: QuerySet[Stream]) -> list[StreamView]:
    found = list(streams)
    runs = Run.counted.filter(
        pipeline__in=[stream.pipeline_id for stream in found], kind=RunKind.STREAM, state__in=ACTIVE
    )
    by_pipeline = {run.pipeline_id: run for run in runs.defer("report", "timeline").order_by("-number")}
    return [StreamView(stream, by_pipeline.get(stream.pipeline_id)) for stream in found]


def get_stream(workspace: Workspace, slug: str) -> Stream:
    """Return the stream of a pipeline. Raises FlowError `stream.unknown` and `pipeline.unknown`."""
    pipeline = get_pipeline(workspace, slug)
    stream = list_streams(workspace).filter(pipeline=pipeline).first()
    if stream is None:
        raise FlowError(
            "stream.unknown",
            f"Pipeline {slug!r} has no stream.",
            hint="A stream exists once a pipeline with the load mode cdc_mirror was started.",
        )
    return stream


def view_of(stream: Stream) -> StreamView:
    return view_all(list_streams(stream.workspace).filter(pk=stream.pk))[0]


def find_view(pipeline: Pipeline) -> StreamView | None:
    views = view_all(Stream.objects.filter(pipeline=pipeline).select_related("pipeline"))
    return views[0] if views else None


def list_changes(stream: Stream) -> QuerySet[StreamChange]:
    """Return the newest changes of a stream."""
    return StreamChange.objects.filter(stream=stream).order_by("-at", "-pk")[:NEWEST_CHANGES]


@dataclass(frozen=True, slots=True)
class Bar:
    """One hour of the chart. `height`, `y` and `x` are in percent of the chart; the highest hour is as high as it."""

    hour: datetime
    counts: dict[str, Any]
    height: float
    y: float
    x: float


def chart_of(stream: Stream) -> list[Bar]:
    """Return the last hours, the newest last, also those without changes; nothing if none has any."""
    now = timezone.now().replace(minute=0, second=0, microsecond=0)
    first = now - timedelta(hours=CHART_HOURS - 1)
    known = {hour.hour: hour for hour in StreamHour.objects.filter(stream=stream, hour__gte=first)}
    if not known:
        return []
    most = max(hour.rows for hour in known.values()) or 1
    bars = []
    for i in range(CHART_HOURS):
        hour = known.get(first + timedelta(hours=i)) or StreamHour(hour=first + timedelta(hours=i))
        counts = {name: getattr(hour, name) for name in (*COUNTS, "worst_lag")}
        height = round(100 * hour.rows / most, 2)
        bars.append(Bar(hour.hour, counts, height, 100 - height, round(100 * i / CHART_HOURS, 3)))
    return bars


def totals_of(stream: Stream) -> dict[str, Any]:
    """Return the sums of the last 24 hours, and the worst lag."""
    since = timezone.now() - timedelta(hours=CHART_HOURS)
    hours = StreamHour.objects.filter(stream=stream, hour__gte=since)
    sums = hours.aggregate(**{name: Sum(name) for name in COUNTS}, worst_lag=Max("worst_lag"))
    return {name: value or 0 for name, value in sums.items()}
