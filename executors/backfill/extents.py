"""What sources say about their history before it is divided into chunks."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from executors.backfill.model import Chunk, ChunkChange, LoadedChunk
from executors.errors import Terminal
from ir.cursor_values import Axis, axis_of
from ir.types import ColumnType


@dataclass(frozen=True, slots=True)
class Cursor:
    """The column by which the rows of a source are divided. `type` is its type in the words of the source."""

    column: str
    type: str
    kind: ColumnType

    @property
    def axis(self) -> Axis:
        """The positions of its values. Raises Terminal `backfill.column_unordered`."""
        axis = axis_of(self.kind)
        if axis is None:
            raise Terminal(
                "backfill.column_unordered",
                f"{self.column!r} is {self.type}. Its values cannot be divided into ranges.",
                hint="Use a column with a whole number, a decimal, a date or a timestamp.",
            )
        return axis


@dataclass(frozen=True, slots=True)
class Extent:
    """The highest finite value of a cursor that a watermark may have, and the lowest finite one, as texts; None if
    there is none. `estimated_rows` is None if the source has no estimate."""

    cursor: Cursor
    highest: str | None
    lowest: str | None
    has_nulls: bool
    estimated_rows: int | None = None


@dataclass(frozen=True, slots=True)
class PartitionExtent:
    """A partition of a source, by the texts of its values, and the lowest finite value of the cursor in it."""

    values: Mapping[str, str | None]
    lowest: str | None


@dataclass(frozen=True, slots=True)
class RowGroup:
    """The number of rows of a partition between two neighbours among the bounds of all chunks: `place` is the number
    of bounds that are not above the rows. None means that the cursor of the rows is NULL. `cursor_sum` is the sum of
    the hashes of their cursor, which does not depend on their order."""

    partition: Mapping[str, str | None]
    place: int | None
    rows: int
    cursor_sum: int = 0


@dataclass(frozen=True, slots=True)
class ChunkCounting:
    """Chunks whose rows are counted again. `bounds` are the bounds of all of them in ascending order, `start` is the
    lowest that begins a chunk, None if one has no lower end."""

    cursor: Cursor
    chunks: tuple[LoadedChunk, ...]
    bounds: tuple[str, ...]
    start: str | None
    has_nulls: bool
    partition_by: tuple[str, ...]

    @classmethod
    def of(cls, cursor: Cursor, chunks: Sequence[LoadedChunk]) -> ChunkCounting:
        ranges = [loaded.chunk for loaded in chunks if not loaded.chunk.is_null]
        texts = {text for chunk in ranges for text in (chunk.lower, chunk.upper) if text is not None}
        lowers = [chunk.lower for chunk in ranges]
        position = cursor.axis.position
        return cls(
            cursor,
            tuple(chunks),
            tuple(sorted(texts, key=position)),
            None if None in lowers else min((text for text in lowers if text is not None), key=position, default=None),
            any(loaded.chunk.is_null for loaded in chunks),
            tuple(next((chunk.partition for chunk in ranges if chunk.partition), {})),
        )

    def changes(self, groups: Sequence[RowGroup], sums: Mapping[int, int]) -> Iterator[ChunkChange]:
        """Yield the chunks whose rows have changed, and the rows that belong to none of them. `sums` are the sums of
        hashes of the rows that were read, by chunk, as far as they are known."""
        now = dict.fromkeys((loaded.chunk.ordinal for loaded in self.chunks), 0)
        sums_now = dict(now)
        place = {text: number for number, text in enumerate(self.bounds, start=1)}
        homes = {
            (tuple(chunk.partition.items()), at): chunk.ordinal
            for chunk in (loaded.chunk for loaded in self.chunks)
            for at in _places(chunk, place)
        }
        others = 0
        for group in groups:
            partition = tuple(group.partition.items()) if group.place is not None else ()
            home = homes.get((partition, group.place))
            if home is None:
                others += group.rows
            else:
                now[home] += group.rows
                sums_now[home] += group.cursor_sum
        for loaded in self.chunks:
            ordinal, rows = loaded.chunk.ordinal, loaded.rows_read
            if rows != now[ordinal] or sums.get(ordinal, sums_now[ordinal]) != sums_now[ordinal]:
                yield ChunkChange(ordinal, rows, now[ordinal])
        if others:
            yield ChunkChange(None, 0, others)


def _places(chunk: Chunk, place: Mapping[str, int]) -> Sequence[int | None]:
    if chunk.is_null:
        return [None]
    first = 0 if chunk.lower is None else place[chunk.lower]
    return range(first, len(place) + 1 if chunk.upper is None else place[chunk.upper])
