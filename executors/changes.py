"""What a window of changes does to a table, beside the rows that it inserts or updates. Plain data."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path


@dataclass(frozen=True, slots=True)
class ChangesRead:
    """The changes behind a reading. `key` are the columns of the target that identify a row.

    `path` is a CSV file with the columns `change`, `unchanged` and one for each column of `key`. A line without
    `change` names the key of a deleted row. Another line names a row of the reading whose columns `unchanged`
    (positions in `columns`, an array) have the values of the row of the table with this key. `copies` maps source
    columns to the columns of the target that have the same values. `deleted` and `incomplete` count these lines,
    `replaced` the changes that had a later one of the same key. With `truncates`, all rows of the table are removed
    first; with `is_snapshot`, the rows of the reading are all that the table shall have.
    """

    key: Sequence[str]
    path: Path | None = None
    columns: Sequence[str] = ()
    copies: Mapping[str, Sequence[str]] = field(default_factory=dict)
    text_keys: frozenset[str] = frozenset()
    deleted: int = 0
    replaced: int = 0
    incomplete: int = 0
    truncates: bool = False
    is_snapshot: bool = False

    @property
    def beside_rows(self) -> int:
        """The number of changes that are not rows of the reading."""
        return self.deleted + self.replaced
