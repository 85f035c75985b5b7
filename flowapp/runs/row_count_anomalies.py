"""`expectedRowCountDelta`: compare the row count of a load with previous loads. It warns; it never fails a run."""

from __future__ import annotations

from dataclasses import dataclass
from statistics import fmean

from executors.api import add_warnings
from executors.report import RunReport, RunWarning
from flowapp.alerts.services import raise_alert, resolve_by
from flowapp.pipelines.documents import read_document
from flowapp.runs.models import LOADED, LOADS, CommitRecord, Run
from flowapp.runs.run_kinds import run_kind_of
from ir.nodes import Target
from ir.nodes.target import ExpectedRowCountDelta
from ir.words import counted

LEAST_RUNS = 3
"""The minimum number of earlier loads."""


@dataclass(frozen=True, slots=True)
class RowCountRange:
    """The expected number of rows of a load, from the mean of the `runs` loads before it. None is no bound."""

    mean: float
    runs: int
    least: float | None
    most: float | None

    @property
    def words(self) -> str:
        bounds = (("at least", self.least), ("at most", self.most))
        return " and ".join(f"{word} {bound:,.0f}" for word, bound in bounds if bound is not None)

    def holds(self, rows: int) -> bool:
        return (self.least is None or rows >= self.least) and (self.most is None or rows <= self.most)


def watch_row_counts(run: Run, report: RunReport) -> None:
    """Compare the row count of each target of a loaded run with its range. Outside it, add a warning to the report and
    raise an alert. A run without new data is not compared."""
    if not run_kind_of(run).loads:
        return
    for target in read_document(run.document).targets():
        commit = CommitRecord.objects.filter(run=run, node=target.id).first()
        if target.expected_row_count_delta and commit:
            expected = row_count_range(run, target, target.expected_row_count_delta)
            add_warnings(report, _watch(run, target, commit.rows_loaded, expected))


def row_count_range(run: Run, target: Target, expected: ExpectedRowCountDelta) -> RowCountRange | None:
    """Return the expected range from the loads before this run; None if there are too few of them."""
    before = (
        CommitRecord.objects.filter(pipeline=run.pipeline_id, node=target.id)
        .filter(run__state__in=LOADED, run__kind__in=LOADS)
        .exclude(run=run)
        .order_by("-committed_at")[: expected.window_runs]
    )
    rows = [commit.rows_loaded for commit in before]
    if len(rows) < LEAST_RUNS:
        return None
    mean = fmean(rows)
    down, up = expected.max_decrease_pct, expected.max_increase_pct
    return RowCountRange(
        mean,
        len(rows),
        least=None if down is None else mean * (1 - float(down) / 100),
        most=None if up is None else mean * (1 + float(up) / 100),
    )


def _watch(run: Run, target: Target, rows: int, expected: RowCountRange | None) -> list[RunWarning]:
    if expected is None:
        return []
    if expected.holds(rows):
        resolve_by("rows.in_band", pipeline_id=run.pipeline_id, node=target.id)
        return []
    text = (
        f"{target.schema_}.{target.table} got {counted(rows, 'row')}; the last {expected.runs} loads had "
        f"{expected.mean:,.0f} on average, expected: {expected.words}."
    )
    raise_alert(
        "rows.out_of_band",
        "warning",
        text,
        "Compare the source with its usual content. If the new count is normal, widen "
        "expectedRowCountDelta on the target.",
        pipeline=run.pipeline,
        run=run,
        node=target.id,
    )
    return [RunWarning("rows.out_of_band", target.id, text)]
