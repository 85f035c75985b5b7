"""Compare two texts side by side."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from difflib import SequenceMatcher

CONTEXT = 3


@dataclass(frozen=True, slots=True)
class DiffLine:
    """One line of each side, None where that side has none. `skipped` counts equal lines that are left out."""

    kind: str
    left_number: int | None = None
    left: str | None = None
    right_number: int | None = None
    right: str | None = None
    skipped: int = 0


def side_by_side(left: str, right: str) -> list[DiffLine]:
    """Return all differences with some lines of context."""
    a, b = left.splitlines(), right.splitlines()
    matcher = SequenceMatcher(None, a, b)
    lines: list[DiffLine] = []
    shown_until = 0
    for group in matcher.get_grouped_opcodes(CONTEXT):
        lines += _skip(group[0][1] - shown_until)
        for kind, a1, a2, b1, b2 in group:
            lines += _pair(kind, a, range(a1, a2), b, range(b1, b2))
        shown_until = group[-1][2]
    return lines + _skip(len(a) - shown_until) if lines else []


def _skip(count: int) -> list[DiffLine]:
    return [DiffLine("skip", skipped=count)] if count else []


def _pair(kind: str, a: list[str], left: range, b: list[str], right: range) -> Iterator[DiffLine]:
    for i in range(max(len(left), len(right))):
        x, y = (left[i] if i < len(left) else None), (right[i] if i < len(right) else None)
        yield DiffLine(
            kind,
            None if x is None else x + 1,
            None if x is None else a[x],
            None if y is None else y + 1,
            None if y is None else b[y],
        )
