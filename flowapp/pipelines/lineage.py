"""The Lineage tab: source columns on the left, target columns on the right, connected by lines."""

from __future__ import annotations

from dataclasses import dataclass

from flowapp.pipelines.drafts import DraftView
from ir.lineage import Lineage, Trace, lineages_of

ROW = 32
"""The distance between the names of two columns, in SVG units."""
WIDTH = 160


@dataclass(frozen=True, slots=True)
class Picture:
    """A lineage diagram. `left` are the columns on its left side, each with the reference that it belongs to, "" for
    the source. `lines` has the `d` of one SVG path per target column, empty if no column contributes to it."""

    lineage: Lineage
    left: list[tuple[str, str]]
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
    left = _left(lineage)
    places = {column: i for i, column in enumerate(left)}
    lines = ["".join(_line(places[column], i) for column in _left(trace)) for i, (_, trace) in enumerate(columns)]
    return Picture(lineage, left, columns, lines, ROW * max(len(left), len(columns), 1))


def _left(part: Lineage | Trace) -> list[tuple[str, str]]:
    return [*(("", name) for name in part.sources), *part.references]


def _line(left: int, right: int) -> str:
    start, end, half = ROW * left + ROW // 2, ROW * right + ROW // 2, WIDTH // 2
    return f"M0 {start}C{half} {start} {half} {end} {WIDTH} {end}"
