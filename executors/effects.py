"""Counts of the changes that a load would make in its target. Plain data; no database, no Spark."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

MOST_SAMPLES = 20


@dataclass(frozen=True, slots=True)
class Sample:
    """A row that would change: its key, and the old and new values of the columns that differ, all as text."""

    key: Mapping[str, str | None]
    changes: Mapping[str, Sequence[str | None]]


@dataclass(frozen=True, slots=True)
class KeyMatch:
    """The staged rows compared with the target's rows of the same keys.

    `gone` counts keys of the target that no staged row has, `older` staged rows for which the target has a newer row.
    `columns` counts the values that differ, by column.
    """

    key: tuple[str, ...]
    new: int
    changed: int
    same: int
    gone: int
    columns: Mapping[str, int] = field(default_factory=dict)
    samples: tuple[Sample, ...] = ()
    older: int = 0


@dataclass(frozen=True, slots=True)
class NullRates:
    """Fractions of NULL in one column, from 0 to 1: in the target before the load, and in the staged rows."""

    before: float
    staged: float


@dataclass(frozen=True, slots=True)
class Effect:
    """Numbers of rows: `before` in the target; `inserted`, `deleted` and `updated` by the load; `unchanged` already
    equal.

    `replaced`, `below_watermark` and `older` staged rows are not loaded. `keys` is None where the table has no unique
    key. `ahead` counts inserted rows that are dated after the database's clock, infinite or NaN: the watermark does not
    follow them. `range_deleted` counts the rows of a range that is loaded again. `held_for` says why a run would be
    held.
    """

    node: str
    table: str
    mode: str
    is_new_table: bool
    before: int
    inserted: int
    updated: int = 0
    unchanged: int = 0
    deleted: int = 0
    replaced: int = 0
    below_watermark: int = 0
    older: int = 0
    ahead: int = 0
    range_deleted: int = 0
    keys: KeyMatch | None = None
    held_for: tuple[str, ...] = ()

    @property
    def after(self) -> int:
        return self.before + self.inserted - self.deleted - self.range_deleted

    @property
    def loaded(self) -> int:
        return self.inserted + self.updated + self.unchanged

    def node_fields(self) -> dict[str, int]:
        """Return the counts under the names of `NodeReport`."""
        names = ("inserted", "updated", "unchanged", "replaced", "loaded")
        return {
            "rows_out": self.loaded,
            "rows_behind_mark": self.below_watermark,
            "rows_suppressed": self.older,
            # Loads count rows here that their source has deleted, not those of a table that they replace.
            "rows_deleted": 0,
            **{f"rows_{n}": getattr(self, n) for n in names},
        }

    def to_json(self) -> dict[str, Any]:
        """Return the counts under the names of `flow run --json`. Samples contain row values and are only in
        `samples_json`."""
        return {
            "node": self.node,
            "table": self.table,
            "loadMode": self.mode,
            "isNewTable": self.is_new_table,
            "rowsBefore": self.before,
            "rowsAfter": self.after,
            "rowsInserted": self.inserted,
            "rowsUpdated": self.updated,
            "rowsUnchanged": self.unchanged,
            "rowsDeleted": self.deleted + self.range_deleted,
            "rowsSuppressed": self.older,
            "keys": self._keys_json(),
            "heldFor": list(self.held_for),
        }

    def _keys_json(self) -> dict[str, Any] | None:
        if self.keys is None:
            return None
        counts = {name: getattr(self.keys, name) for name in ("new", "changed", "same", "older", "gone")}
        return {"key": list(self.keys.key), **counts, "changedColumns": dict(self.keys.columns)}

    def samples_json(self) -> list[dict[str, Any]]:
        return [asdict(sample) for sample in self.keys.samples] if self.keys else []
