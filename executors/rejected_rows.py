"""Rejected rows that are chosen to be loaded after all, and what becomes of them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field

from executors.table_name import TableName


@dataclass(frozen=True, slots=True)
class RejectedRow:
    """A rejected row, by one of its entries. `revision` is that of all its entries."""

    id: int
    run_id: str
    node: str
    attempt: int
    row_id: str
    status: str
    disposition: str
    revision: int
    source_file: str | None
    source_record: int | None
    row_from: str
    fix_run: str | None = None

    @property
    def key(self) -> tuple[str, str]:
        """What tells it from all other rows."""
        return self.run_id, self.row_id

    @property
    def name(self) -> str:
        """The same in one word."""
        return f"{self.run_id}:{self.row_id}"


@dataclass(frozen=True, slots=True)
class RowResult:
    """`entry` is the number of the row's entry by which it was chosen; of a row that was purged nothing else is
    known. `rules` are those that it failed in the replay."""

    entry: int
    row_run: str | None
    row_id: str | None
    source_file: str | None
    source_record: int | None
    result: str
    rules: Sequence[str] = ()

    @classmethod
    def of(cls, row: RejectedRow, result: str, rules: Sequence[str] = ()) -> RowResult:
        return cls(row.id, row.run_id, row.row_id, row.source_file, row.source_record, result, rules)

    @classmethod
    def gone(cls, entry: int) -> RowResult:
        return cls(entry, None, None, None, None, "gone")


@dataclass(frozen=True, slots=True)
class StandIns:
    """What stands for a row that is left out: equal rows that are taken, by name, or the run that has replayed them."""

    names: frozenset[str] = frozenset()
    replay: str | None = None


@dataclass(frozen=True, slots=True)
class RowOutcome:
    """What became of a row, and the rules that it failed."""

    result: str
    rules: tuple[str, ...] = ()


RowPosition = tuple[int, int]
"""Where a row stands in the reading: the place of its origin, and its record there."""


@dataclass(frozen=True, slots=True)
class Chosen:
    """A row of the reading, and the table that keeps it. `seen` is the revision that it must have, if any."""

    table: TableName
    row: RejectedRow
    seen: int | None = None


@dataclass(slots=True)
class Choice:
    """The rows that can be loaded, by their place, and the others, each with the reason why it cannot."""

    rows: dict[RowPosition, Chosen] = field(default_factory=dict)
    origins: dict[tuple[str, str], int] = field(default_factory=dict)
    excluded: list[RowResult] = field(default_factory=list)
    repeats: list[tuple[RejectedRow, StandIns]] = field(default_factory=list)
    """Those that are left out because others stand for them."""
    beside: tuple[TableName, ...] = ()
    """Tables that hold other entries of these rows, or may: what becomes of a row is noted in all of them."""

    @property
    def excluded_counts(self) -> dict[str, int]:
        """How many rows are left out for which reason."""
        return dict(Counter(one.result for one in self.excluded))

    @property
    def by_table(self) -> dict[TableName, dict[RowPosition, RejectedRow]]:
        """The rows by the table that keeps them."""
        found: dict[TableName, dict[RowPosition, RejectedRow]] = {}
        for position, chosen in self.rows.items():
            found.setdefault(chosen.table, {})[position] = chosen.row
        return found

    @property
    def tables(self) -> list[TableName]:
        return list(dict.fromkeys((*(chosen.table for chosen in self.rows.values()), *self.beside)))
