"""The row balance of a target: `read 10 = loaded 7 + rejected 2 + filtered 1`, or `read 10 + exploded 20 = …`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

TERMS = {
    "rowsLoaded": "loaded",
    "rowsRejected": "rejected",
    "rowsFiltered": "filtered",
    "rowsDeleted": "deleted",
    "rowsElsewhere": "to other branches",
    "rowsGrouped": "grouped into these",
    "rowsReplaced": "replaced",
    "rowsBehindMark": "below the watermark",
    "rowsSuppressed": "suppressed",
}
"""The outcomes of the rows read. The first three are always shown."""
ALWAYS_SHOWN = 3


@dataclass(frozen=True, slots=True)
class RowBalance:
    """A row balance. `terms` are (word, rows); `holds` is whether they add up to the rows read and exploded."""

    read: int
    exploded: int
    terms: tuple[tuple[str, int], ...]
    holds: bool

    @property
    def sign(self) -> str:
        return "=" if self.holds else "≠"

    def __str__(self) -> str:
        shown = [f"{word} {count:,}" for word, count in self.terms]
        added = f" + exploded {self.exploded:,}" if self.exploded else ""
        return f"read {self.read:,}{added} {self.sign} {' + '.join(shown)}"


def row_balance_of(node: Mapping[str, Any]) -> RowBalance:
    """Return the row balance of a target, given in the form of `flow run --json`."""
    terms = [(word, node.get(key) or 0) for key, word in TERMS.items()]
    shown = [term for index, term in enumerate(terms) if term[1] or index < ALWAYS_SHOWN]
    read, exploded = node.get("rowsRead") or 0, node.get("rowsExploded") or 0
    return RowBalance(read, exploded, tuple(shown), sum(count for _, count in terms) == read + exploded)


def effect_words(effect: Mapping[str, Any]) -> str:
    """Describe what a load would do to its table: `10 rows now + 3 inserted - 2 deleted = 11 rows after; 4 updated,
    …`"""
    now, inserted, deleted = effect["rowsBefore"], effect["rowsInserted"], effect["rowsDeleted"]
    shown = f"{effect['rowsUpdated']:,} updated, {effect['rowsUnchanged']:,} unchanged"
    if older := effect["rowsSuppressed"]:
        shown += f", {older:,} older than in the table"
    return (
        f"{now:,} rows now + {inserted:,} inserted - {deleted:,} deleted = {effect['rowsAfter']:,} rows after; {shown}"
    )
