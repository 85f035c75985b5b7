"""Rejected rows that were chosen to be loaded, and their results."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from executors.table_name import TableName


@dataclass(frozen=True, slots=True)
class RejectedRow:
    """A rejected row, identified by one of its entries. All its entries have the same `revision`."""

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
    source_node: str | None = None
    fix_run: str | None = None

    @property
    def key(self) -> tuple[str, str]:
        """The unique key of the row: run and row id."""
        return self.run_id, self.row_id

    @property
    def name(self) -> str:
        """The key as one text."""
        return f"{self.run_id}:{self.row_id}"


@dataclass(frozen=True, slots=True)
class RowResult:
    """The result of one chosen row. `entry` is the id of the entry by which the row was chosen; nothing else is known
    of purged rows. `rules` are the rules that the row failed in the replay."""

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
    """Why an excluded row is a repetition: names of equal rows that are included, or the run that has replayed them."""

    names: frozenset[str] = frozenset()
    replay: str | None = None


@dataclass(frozen=True, slots=True)
class RowOutcome:
    """The result of a row, and the rules that it failed."""

    result: str
    rules: tuple[str, ...] = ()


OriginKey = tuple[str, str, str]
"""A file of a run: the run, the source node ("" if it does not matter), and the name."""

RowPosition = tuple[int, int]
"""The position of a row in the reading: the position of its origin, and its record number there."""


@dataclass(frozen=True, slots=True)
class Chosen:
    """A row of the reading, and the table that stores it. `seen` is the revision that it must have, if any."""

    table: TableName
    row: RejectedRow
    seen: int | None = None


@dataclass(slots=True)
class Choice:
    """The rows that can be loaded, by position, and the excluded rows with the reason for each."""

    rows: dict[RowPosition, Chosen] = field(default_factory=dict)
    origins: dict[OriginKey, int] = field(default_factory=dict)
    excluded: list[RowResult] = field(default_factory=list)
    repeats: list[tuple[RejectedRow, StandIns]] = field(default_factory=list)
    """Rows that are excluded because others represent them."""
    beside: tuple[TableName, ...] = ()
    """Tables that may contain other entries of these rows. The results are written to all of them."""

    @property
    def excluded_counts(self) -> dict[str, int]:
        """The number of excluded rows by reason."""
        return dict(Counter(one.result for one in self.excluded))

    def of(self, source: str) -> Choice:
        """Return the rows of one source node alone."""
        origins = {key: seq for key, seq in self.origins.items() if key[1] == source}
        seqs = set(origins.values())
        return replace(self, rows={at: one for at, one in self.rows.items() if at[0] in seqs}, origins=origins)

    @property
    def by_table(self) -> dict[TableName, dict[RowPosition, RejectedRow]]:
        """The rows by the table that stores them."""
        found: dict[TableName, dict[RowPosition, RejectedRow]] = {}
        for position, chosen in self.rows.items():
            found.setdefault(chosen.table, {})[position] = chosen.row
        return found

    @property
    def tables(self) -> list[TableName]:
        return list(dict.fromkeys((*(chosen.table for chosen in self.rows.values()), *self.beside)))
