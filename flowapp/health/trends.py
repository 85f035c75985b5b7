"""Data of the charts on the Health page: rows, rejected rows and durations of each pipeline's last loads."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from django.db.models import OuterRef, Subquery, Sum

from flowapp.accounts.models import Workspace
from flowapp.pipelines.documents import read_document
from flowapp.pipelines.models import Pipeline
from flowapp.runs.durations import seconds_of
from flowapp.runs.models import ENDED, LOADS, NodeRun, Run
from flowapp.runs.row_count_anomalies import RowCountRange, row_count_range
from ir.errors import FlowError

MOST_PIPELINES, LAST_RUNS = 6, 30
MEASURES = (("loaded", "Rows loaded", "rows"), ("seconds", "Duration", "s"), ("rejected", "Rows rejected", "rows"))


@dataclass(frozen=True, slots=True)
class Chart:
    """One measure over the last runs, oldest first; None if a run has no value."""

    title: str
    unit: str
    values: list[float | None]
    row_range: RowCountRange | None = None

    @property
    def values_json(self) -> str:
        return json.dumps(self.values)

    @property
    def expected(self) -> str:
        """The expected range as text."""
        return f"expected {self.row_range.words} {self.unit}" if self.row_range else ""

    @property
    def words(self) -> str:
        """A text alternative of the chart for screen readers."""
        known = [value for value in self.values if value is not None]
        if not known:
            return f"{self.title}: no numbers"
        expected = f"; {self.expected}" if self.row_range else ""
        return f"{self.title}: last {known[-1]:,}, least {min(known):,}, most {max(known):,} {self.unit}{expected}"


@dataclass(frozen=True, slots=True)
class Trend:
    """A pipeline's last runs. `runs` are (number, ISO time, state), as the charts name them."""

    pipeline: Pipeline
    runs: list[tuple[int, str, str]]
    charts: list[Chart]

    @property
    def runs_json(self) -> str:
        return json.dumps(self.runs)


def list_trends(workspace: Workspace, slug: str = "") -> list[Trend]:
    """Return the trends of the most recently run pipelines, or of one pipeline."""
    newest = Run.objects.filter(pipeline=OuterRef("pk"), state__in=ENDED, kind__in=LOADS).order_by("-queued_at", "id")
    pipelines = Pipeline.objects.filter(workspace=workspace).annotate(last=Subquery(newest.values("queued_at")[:1]))
    pipelines = pipelines.exclude(last=None)
    if slug:
        pipelines = pipelines.filter(slug=slug)
    runs = {pipeline: _last_runs(pipeline) for pipeline in pipelines.order_by("-last", "slug")[:MOST_PIPELINES]}
    rows = _sum_rows([run for of_one in runs.values() for run in of_one])
    return [_trend(pipeline, of_one, rows) for pipeline, of_one in runs.items()]


def _trend(pipeline: Pipeline, runs: Sequence[Run], rows: Mapping[UUID, Mapping[str, Any]]) -> Trend:
    measured = [_measures(run, rows.get(run.pk, {})) for run in runs]
    row_range = _band(pipeline, runs[-1])
    charts = [
        Chart(title, unit, [values[name] for values in measured], row_range if name == "loaded" else None)
        for name, title, unit in MEASURES
    ]
    return Trend(pipeline, [(run.number, run.queued_at.isoformat(), run.state) for run in runs], charts)


def _last_runs(pipeline: Pipeline) -> Sequence[Run]:
    runs = Run.objects.filter(pipeline=pipeline, state__in=ENDED, kind__in=LOADS).defer("report", "timeline")
    return list(runs.order_by("-queued_at", "id")[:LAST_RUNS])[::-1]


def _sum_rows(runs: Sequence[Run]) -> dict[UUID, dict[str, Any]]:
    """Return the rows of each run, by its key. A join would sum the nodes of all runs of the pipeline."""
    nodes = NodeRun.objects.filter(run__in=[run.pk for run in runs]).values("run")
    sums = nodes.annotate(loaded=Sum("rows_loaded"), rejected=Sum("rows_rejected"))
    found = sums.values_list("run", "loaded", "rejected")
    return {key: {"loaded": loaded, "rejected": rejected} for key, loaded, rejected in found}


def _measures(run: Run, rows: Mapping[str, Any]) -> dict[str, float | None]:
    took = seconds_of(run)
    return {
        "loaded": rows.get("loaded"),
        "rejected": _rejected(run, rows.get("rejected")),
        "seconds": None if took is None else round(took, 1),
    }


def _rejected(run: Run, counted: int | None) -> int | None:
    """Return the rejected rows. A run that failed before its load has no target counts but may have stored rejected
    rows."""
    return counted if counted is not None else run.quarantine_rows or None


def _band(pipeline: Pipeline, newest: Run) -> RowCountRange | None:
    """Return the expected row count of the next load, if exactly one target defines it; None also if this release
    cannot parse the document, or if the version of an imported run is not here."""
    try:
        targets = read_document(newest.document).targets()
    except FlowError:
        return None
    if len(targets) != 1 or targets[0].expected_row_count_delta is None:
        return None
    return row_count_range(newest, targets[0], targets[0].expected_row_count_delta)
