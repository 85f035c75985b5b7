"""The chunks of a backfill, and what runs exchange about them. Plain data."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from ir.backfill import CursorKind


@dataclass(frozen=True, slots=True)
class Chunk:
    """A part of the history of a source: the rows whose value of `column` is in [`lower`, `upper`), and whose values of
    the columns of `partition` are the given ones.

    All values are texts of the types of their columns. Without `lower` the range has no lower end, also for values such
    as `-infinity`. In a `partition`, None means NULL. `is_null` chunks have the rows whose cursor is NULL.
    """

    ordinal: int
    column: str
    lower: str | None = None
    upper: str | None = None
    partition: Mapping[str, str | None] = field(default_factory=dict)
    is_null: bool = False

    @property
    def is_whole(self) -> bool:
        """Whether the chunk has all rows of its source."""
        return self.lower is None and self.upper is None and not self.partition and not self.is_null

    @property
    def predicate(self) -> str:
        """The rows of the chunk in the form of a condition, for display only."""
        parts = [_equals(name, value) for name, value in self.partition.items()]
        if self.is_null:
            parts.append(f"{self.column} IS NULL")
        if self.lower is not None:
            parts.append(f"{self.column} >= {_quoted(self.lower)}")
        if self.upper is not None:
            parts.append(f"{self.column} < {_quoted(self.upper)}")
        return " AND ".join(parts) or "all rows"


def _equals(name: str, value: str | None) -> str:
    return f"{name} IS NULL" if value is None else f"{name} = {_quoted(value)}"


def _quoted(value: str) -> str:
    return "'" + value.replace("'", "''") + "'"


@dataclass(frozen=True, slots=True)
class ChunkPlan:
    """The chunks of a backfill. Together they have each row of the source below the `cut` exactly once, from the start
    of the backfill on.

    `mark` is the highest value that was seen, at most the clock of the target's database if the cursor is a time. A
    target with a watermark continues there, and reads again from the cut on: the `mark` minus its lag. Both are None
    for a source without values. `type` is the type of the cursor in the words of PostgreSQL, `kind` in those of
    documents. `estimated_rows` is None if the source has no estimate. `is_empty` means that the source has no value,
    `leaves_nulls` that no chunk has the rows with NULL, although the source has some.
    """

    cursor_kind: CursorKind
    column: str
    type: str
    cut: str | None
    mark: str | None
    chunks: tuple[Chunk, ...]
    parallelism: int = 1
    estimated_rows: int | None = None
    kind: str = ""
    is_empty: bool = False
    leaves_nulls: bool = False


@dataclass(frozen=True, slots=True)
class ChunkJob:
    """The chunk that a run loads. `key` identifies the chunk across all of its runs and attempts, also if another
    backfill of the pipeline has the same ordinal: of several attempts at one key, only the newest can commit. `type` is
    the type of the cursor when the chunks were planned. With `replaces`, the rows of the target in the range of the
    chunk are replaced instead of added to. With `sums`, the source adds the hashes of the cursor of all rows up."""

    chunk: Chunk
    key: str
    type: str
    replaces: bool = False
    sums: bool = False


@dataclass(frozen=True, slots=True)
class ChunkRange:
    """The range [`lower`, `upper`) of cursor values of a rewind, as texts. Without `upper`, it ends where the next load
    of the target begins, or behind the highest value of the source; without `lower`, it begins with the history."""

    lower: str | None = None
    upper: str | None = None


@dataclass(frozen=True, slots=True)
class LoadedChunk:
    """A chunk that is done, the number of rows that its run read from the source, and the id of that run, None if it is
    not known any more."""

    chunk: Chunk
    rows_read: int
    run_id: str | None = None


@dataclass(frozen=True, slots=True)
class BackfillMark:
    """What the last step of a backfill stores in the target, from the plan, and the chunks that are done, which it
    compares with the source. For a rewind, `mark` is None: it does not move the watermark."""

    column: str
    type: str
    cut: str | None
    mark: str | None
    chunks: tuple[LoadedChunk, ...] = ()


@dataclass(frozen=True, slots=True)
class ChunkChange:
    """A chunk whose rows in the source have changed since its run read them: their number, or else the values of their
    cursor. `ordinal` is None for rows of the range that belong to no chunk, such as rows of a new partition."""

    ordinal: int | None
    rows_read: int
    rows_now: int
