"""The chunks of a backfill as a map: a line for each year, month or block of numbers, with a cell for each chunk."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from itertools import chain, groupby

from django.db.models import Case, Count, F, Max, Min, TextField, Value, When
from django.db.models.functions import Coalesce, Substr

from flowapp.backfills.models import Backfill, Chunk, ChunkStatus

MOST_CELLS = 600
"""With more chunks, lines show shares instead of cells."""
MOST_IN_LINE = 60
LEAST_LINES = 3
"""With fewer years than this, lines that show shares are months."""
BLOCK, LARGE_BLOCK = 50, 500
"""How many chunks are in a line that has no months; the larger one is for shares."""
_DATE = r"^[0-9]{4}-[0-9]{2}-[0-9]{2}"
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


@dataclass(slots=True)
class _Part:
    """Neighbouring chunks of the same partition, month and block. `month` is empty if the bounds are no dates."""

    partition: str
    month: str
    is_null: bool
    block: int
    first: int
    last: int
    counts: Counter[str]
    cells: tuple[Cell, ...] = ()

    @property
    def by_year(self) -> str:
        return self._label(self.month[:4])

    @property
    def by_month(self) -> str:
        return self._label(self.month)

    def _label(self, when: str) -> str:
        return " ".join(filter(None, (self.partition, "NULL" if self.is_null else when)))


def map_chunks(backfill: Backfill) -> ChunkMap:
    """Return the map of a backfill. With many chunks, the database counts those of each line."""
    shows_cells = backfill.chunks.count() <= MOST_CELLS
    parts = _list_cells(backfill) if shows_cells else _count_parts(backfill)
    return ChunkMap(tuple(_lines(parts, shows_cells)), shows_cells)


def _list_cells(backfill: Backfill) -> list[_Part]:
    chunks = backfill.chunks.order_by("ordinal").only("ordinal", "partition", "lower", "upper", "is_null", "status")
    return [_part_of(chunk) for chunk in chunks]


def _part_of(chunk: Chunk) -> _Part:
    n, bound = chunk.ordinal, chunk.lower or chunk.upper or ""
    cell = Cell(n, chunk.status, f"Chunk {n}, {chunk.words}: {ChunkStatus(chunk.status).label.lower()}")
    month = bound[:7] if re.match(_DATE, bound) else ""
    counts = Counter([chunk.status])
    return _Part(_words(chunk.partition), month, chunk.is_null, (n - 1) // BLOCK, n, n, counts, (cell,))


def _count_parts(backfill: Backfill) -> list[_Part]:
    empty = Value("", output_field=TextField())
    chunks = backfill.chunks.annotate(
        bound=Coalesce("lower", "upper", empty),
        month=Case(When(bound__regex=_DATE, then=Substr("bound", 1, 7)), default=empty, output_field=TextField()),
        block=(F("ordinal") - 1) / LARGE_BLOCK,
    )
    names = ("partition", "month", "is_null", "block")
    groups = chunks.values(*names, "status").annotate(count=Count("pk"), first=Min("ordinal"), last=Max("ordinal"))
    found: dict[tuple[str, str, bool, int], _Part] = {}
    for group in groups.order_by("first"):
        key = _words(group["partition"]), group["month"], group["is_null"], group["block"]
        part = found.setdefault(key, _Part(*key, group["first"], group["last"], Counter()))
        part.counts[group["status"]] += group["count"]
        part.last = max(part.last, group["last"])
    return list(found.values())


def _words(partition: Mapping[str, str | None]) -> str:
    return ", ".join("NULL" if value is None else value for value in partition.values())


def _lines(parts: Iterable[_Part], shows_cells: bool) -> Iterator[Line]:
    """Yield a line for each year if that is not too many cells, else for each month or block."""
    years = [(label, list(group)) for label, group in groupby(parts, lambda part: part.by_year)]
    for label, group in years:
        months = [(name, list(part)) for name, part in groupby(group, lambda part: part.by_month)]
        size = sum(part.counts.total() for part in group)
        if size <= MOST_IN_LINE or (not shows_cells and len(years) >= LEAST_LINES):
            yield _line(label, group)
        elif len(months) > 1:
            yield from (_line(*month) for month in months)
        else:
            blocks = (list(block) for _, block in groupby(group, lambda part: part.block))
            yield from (_line(f"{label} {_numbers(block)}".strip(), block) for block in blocks)


def _line(label: str, parts: list[_Part]) -> Line:
    counts = sum((part.counts for part in parts), Counter[str]())
    cells = tuple(chain.from_iterable(part.cells for part in parts))
    return Line(label or _numbers(parts), parts[0].first, parts[-1].last, counts, cells)


def _numbers(parts: list[_Part]) -> str:
    return f"{parts[0].first:,}\u2013{parts[-1].last:,}"
