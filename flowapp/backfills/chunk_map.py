"""The chunks of a backfill as a map: a line for each year, month or block of numbers, with a cell for each chunk."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from itertools import groupby

from flowapp.backfills.bounds import range_words
from flowapp.backfills.models import Backfill, ChunkStatus

MOST_CELLS = 600
"""With more chunks, lines show shares instead of cells."""
MOST_IN_LINE = 60
LEAST_LINES = 3
"""With fewer years than this, lines that show shares are months."""
BLOCK = 50
_DATE = re.compile(r"(\d{4})-(\d{2})-\d{2}")
ORDER = (
    ChunkStatus.DONE,
    ChunkStatus.EMPTY,
    ChunkStatus.RUNNING,
    ChunkStatus.FAILED,
    ChunkStatus.PENDING,
    ChunkStatus.SUPERSEDED,
)


@dataclass(frozen=True, slots=True)
class Cell:
    ordinal: int
    status: str
    words: str

    @property
    def symbol(self) -> str:
        return ChunkStatus(self.status).symbol


@dataclass(frozen=True, slots=True)
class Share:
    """The chunks of a line with one status: where their bar begins and how wide it is, in percent."""

    status: str
    count: int
    begins: float
    width: float


@dataclass(frozen=True, slots=True)
class Line:
    """Chunks with the numbers `first` to `last`. `cells` is empty if the map shows shares."""

    label: str
    first: int
    last: int
    counts: Counter[str]
    cells: tuple[Cell, ...] = ()

    @property
    def words(self) -> str:
        """The counts as text, for screen readers and on hover."""
        found = (f"{self.counts[status]:,} {status.label.lower()}" for status in ORDER if self.counts[status])
        return ", ".join(found)

    @property
    def shares(self) -> Iterator[Share]:
        total, begins = sum(self.counts.values()), 0.0
        for status in ORDER:
            if count := self.counts[status]:
                width = 100 * count / total
                yield Share(status, count, begins, width)
                begins += width


@dataclass(frozen=True, slots=True)
class ChunkMap:
    lines: tuple[Line, ...]
    shows_cells: bool
    statuses: tuple[ChunkStatus, ...] = field(default=ORDER)


@dataclass(frozen=True, slots=True)
class _Chunk:
    ordinal: int
    partition: dict[str, str | None]
    lower: str | None
    upper: str | None
    is_null: bool
    status: str


def map_chunks(backfill: Backfill) -> ChunkMap:
    """Return the map of a backfill. One query."""
    names = ("ordinal", "partition", "lower", "upper", "is_null", "status")
    rows = backfill.chunks.order_by("ordinal").values_list(*names)
    chunks = [_Chunk(n, part, lower, upper, null, status) for n, part, lower, upper, null, status in rows]
    shows_cells = len(chunks) <= MOST_CELLS
    return ChunkMap(tuple(_line(*group, shows_cells) for group in _groups(chunks, shows_cells)), shows_cells)


def _partition_words(partition: dict[str, str | None]) -> str:
    return ", ".join("NULL" if value is None else value for value in partition.values())


def _groups(chunks: list[_Chunk], shows_cells: bool) -> Iterator[tuple[str, list[_Chunk]]]:
    """Yield neighbouring chunks with the label of their line: by year if that is not too many cells, else by month or
    in blocks."""
    by_year = [(label, list(group)) for label, group in groupby(chunks, lambda chunk: _label(chunk, months=False))]
    for label, group in by_year:
        months = [(name, list(part)) for name, part in groupby(group, lambda chunk: _label(chunk, months=True))]
        if len(group) <= MOST_IN_LINE or (not shows_cells and len(by_year) >= LEAST_LINES):
            yield label, group
        elif len(months) > 1:
            yield from months
        else:
            yield from _blocks(label, group, BLOCK if shows_cells else 10 * BLOCK)


def _label(chunk: _Chunk, *, months: bool) -> str:
    if chunk.is_null:
        when = "NULL"
    elif date := _DATE.match(chunk.lower or chunk.upper or ""):
        when = f"{date[1]}-{date[2]}" if months else date[1]
    else:
        when = ""
    return " ".join(filter(None, (_partition_words(chunk.partition), when)))


def _blocks(label: str, chunks: list[_Chunk], size: int) -> Iterator[tuple[str, list[_Chunk]]]:
    for start in range(0, len(chunks), size):
        part = chunks[start : start + size]
        yield " ".join(filter(None, (label, f"{part[0].ordinal:,}\u2013{part[-1].ordinal:,}"))), part


def _line(label: str, chunks: list[_Chunk], shows_cells: bool) -> Line:
    first, last = chunks[0], chunks[-1]
    name = label or f"{first.ordinal:,}\u2013{last.ordinal:,}"
    cells = tuple(_cells(chunks)) if shows_cells else ()
    return Line(name, first.ordinal, last.ordinal, Counter(chunk.status for chunk in chunks), cells)


def _cells(chunks: Iterable[_Chunk]) -> Iterator[Cell]:
    for chunk in chunks:
        status = ChunkStatus(chunk.status).label.lower()
        rows = range_words(chunk.lower, chunk.upper, chunk.is_null, chunk.partition)
        yield Cell(chunk.ordinal, chunk.status, f"Chunk {chunk.ordinal}, {rows}: {status}")
