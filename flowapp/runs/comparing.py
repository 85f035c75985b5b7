"""Compare a run with the last run of its pipeline that loaded rows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from flowapp.runs.durations import seconds_of
from flowapp.runs.models import LOADED, LOADS, NodeRun, Run
from flowapp.runs.run_kinds import run_kind_of
from ir.words import duration_text

MARKED_PCT = 20
"""The difference in percent from which a number is marked."""
MEASURES = {"rows_read": "Rows read", "rows_loaded": "Rows loaded", "rows_rejected": "Rows rejected"}


@dataclass(frozen=True, slots=True)
class Difference:
    """One number of both runs; `unit` is `rows` or `s`. None is an unknown number."""

    title: str
    before: float | None
    now: float | None
    unit: str = "rows"

    @property
    def change(self) -> float | None:
        return None if self.before is None or self.now is None else self.now - self.before

    @property
    def percent(self) -> float | None:
        return 100 * self.change / self.before if self.change is not None and self.before else None

    @property
    def is_marked(self) -> bool:
        if not self.change:
            return False
        return self.percent is None or abs(self.percent) >= MARKED_PCT

    @property
    def words(self) -> str:
        if self.change is None:
            return "–"
        if not self.change:
            return "same"
        amount = f"{self.change:+,.0f}" if self.unit == "rows" else _signed_duration(self.change)
        if self.percent is None:
            return amount
        return f"{amount} ({self.percent:+,.0f} %)" if abs(self.percent) >= 1 else f"{amount} (under 1 %)"


def _signed_duration(seconds: float) -> str:
    return f"{'-' if seconds < 0 else '+'}{duration_text(abs(seconds))}"


@dataclass(frozen=True, slots=True)
class Comparison:
    previous: Run
    differences: Sequence[Difference]

    marked_pct = MARKED_PCT

    @property
    def marked(self) -> int:
        return sum(difference.is_marked for difference in self.differences)


def compare_with_previous(run: Run, nodes: Sequence[Mapping[str, Any]]) -> Comparison | None:
    """Compare a finished run with the one before it. `nodes` are its own, in the form of `run_document`. None if there
    is nothing to compare, such as for a run that found nothing new."""
    if run.ended_at is None or run.nothing_new or not run_kind_of(run).loads:
        return None
    previous = _previous(run)
    return None if previous is None else Comparison(previous, _differences(run, nodes, previous))


def _previous(run: Run) -> Run | None:
    earlier = Run.objects.filter(
        pipeline_id=run.pipeline_id,
        kind__in=LOADS,
        state__in=LOADED,
        nothing_new=False,
        queued_at__lte=run.queued_at,
        number__lt=run.number,
    )
    return earlier.select_related("pipeline").defer("report", "timeline").order_by("-queued_at", "id").first()


def _differences(run: Run, nodes: Sequence[Mapping[str, Any]], previous: Run) -> list[Difference]:
    now = {node["id"]: node for node in nodes if node["kind"] == "target"}
    earlier = NodeRun.objects.filter(run=previous, kind="target").order_by("position")
    before = {node.node: {name: getattr(node, name) for name in MEASURES} for node in earlier}
    targets = list(dict.fromkeys((*now, *before)))
    found = [
        Difference(
            title if len(targets) == 1 else f"{target}: {title.lower()}",
            before.get(target, {}).get(name),
            now.get(target, {}).get(_wire(name)),
        )
        for target in targets
        for name, title in MEASURES.items()
    ]
    return [*found, Difference("Duration", seconds_of(previous), seconds_of(run), unit="s")]


def _wire(name: str) -> str:
    first, *others = name.split("_")
    return first + "".join(map(str.capitalize, others))
