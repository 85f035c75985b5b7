"""Suggests corrections for misspelt words."""

from __future__ import annotations

import difflib
from collections.abc import Iterable

from ir.budget import spend

_LONGEST = 64


def words(text: str) -> frozenset[str]:
    """Split a text into words, for long tables of names."""
    return frozenset(text.split())


def guess(word: object, known: Iterable[str], most: int = 200) -> str | None:
    """Return the known word nearest to `word`, or None. Among more than `most` words, only one with the same letters is
    found."""
    if not isinstance(word, str) or len(word) > _LONGEST:
        return None
    by_letters = {_letters(k): k for k in known}
    spend(10 * len(by_letters))
    if (same := by_letters.get(_letters(word))) is not None or len(by_letters) > most:
        return same
    near = difflib.get_close_matches(_letters(word), by_letters, n=1, cutoff=0.75)
    return by_letters[near[0]] if near else None


def _letters(word: str) -> str:
    """Normalise a name: `load_mode`, `LoadMode` and `loadMode` have the same letters."""
    return "".join(c for c in word.casefold() if c.isalnum())
