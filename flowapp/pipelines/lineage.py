"""The Lineage tab: source columns on the left, target columns on the right, connected by lines."""

from __future__ import annotations

from dataclasses import dataclass

from flowapp.pipelines.drafts import DraftView
from ir.lineage import Lineage, Trace, lineages_of

ROW = 32
"""Units from one column's name to the next one's."""
WIDTH = 160


@dataclass(frozen=True, slots=True)
class Picture:
    """A lineage diagram. `lines` holds the `d` of one SVG path per target column, empty if no column contributes to
    it."""

    lineage: Lineage
    columns: list[tuple[str, Trace]]
    lines: list[str]
    height: int

    @property
    def width(self) -> int:
        return WIDTH


def pictures_of(view: DraftView) -> list[Picture]:
    """Return one diagram per target of the draft; none while the draft has errors."""
    document = view.checked.pipeline
    return [_draw(lineage) for lineage in lineages_of(document)] if document else []


def _draw(lineage: Lineage) -> Picture:
    columns = list(lineage.columns.items())
    left = {name: i for i, name in enumerate(lineage.sources)}
    lines = ["".join(_line(left[name], i) for name in trace.sources) for i, (_, trace) in enumerate(columns)]
    return Picture(lineage, columns, lines, ROW * max(len(left), len(columns), 1))


def _line(left: int, right: int) -> str:
    start, end, half = ROW * left + ROW // 2, ROW * right + ROW // 2, WIDTH // 2
    return f"M0 {start}C{half} {start} {half} {end} {WIDTH} {end}"
