"""Prepare the counts of a preview for its page: row balances and bars."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from flowapp.runs.row_balance import row_balance_of

KINDS = {
    "inserted": "inserted",
    "updated": "changed",
    "unchanged": "unchanged",
    "deleted": "deleted",
    "suppressed": "older than in the table",
}
"""The outcomes of rows as text, by the names of the counts. The first four are always shown."""
ALWAYS_SHOWN = 4


@dataclass(frozen=True, slots=True)
class Bar:
    """A bar. `width` is in percent of the longest bar of its kind."""

    kind: str
    words: str
    rows: int
    width: float


def present_effects(document: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Return the effects of `run_document`, each with its row balance and bars."""
    nodes = {node["id"]: node for node in document["nodes"]}
    return [
        {
            **effect,
            "row_balance": row_balance_of(nodes[effect["node"]]) if effect["node"] in nodes else None,
            "bars": _bars(_counts(effect)),
            "columns": _columns(effect["keys"]),
        }
        for effect in document.get("effects", ())
    ]


def _counts(effect: Mapping[str, Any]) -> list[tuple[str, str, int]]:
    counts = [(kind, words, effect[f"rows{kind.title()}"]) for kind, words in KINDS.items()]
    return [count for index, count in enumerate(counts) if count[2] or index < ALWAYS_SHOWN]


def _columns(keys: Mapping[str, Any] | None) -> list[Bar]:
    """Return a bar for each column that changes, the column with the most rows first."""
    changed = keys["changedColumns"].items() if keys else ()
    return _bars(("updated", name, rows) for name, rows in sorted(changed, key=lambda pair: -pair[1]))


def _bars(counts: Iterable[tuple[str, str, int]]) -> list[Bar]:
    known = list(counts)
    longest = max((rows for _, _, rows in known), default=0) or 1
    return [Bar(kind, words, rows, 100 * rows / longest) for kind, words, rows in known]
