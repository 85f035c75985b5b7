"""Finds the pattern that most texts share, from runs of letters and digits."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from itertools import groupby

MOST_SHAPES = 2
LONGEST = 40
LONGEST_WORD = 8
LETTERS, SPECIAL = "Aa", ".^$*+?{}[]\\|()"
_CLASSES = {"A": "[A-Z]", "a": "[a-z]", "9": "[0-9]"}


def pattern_of(texts: Sequence[tuple[str, int]]) -> str | None:
    """Return one pattern for all texts, which are given with their frequencies; None if they have too little in
    common."""
    if any(len(text) > LONGEST or not text.isascii() for text, _ in texts):
        return None
    shapes: dict[tuple[str, ...], list[list[str]]] = defaultdict(list)
    for text, _ in texts:
        runs = [(sign, "".join(run)) for sign, run in groupby(text, _class)]
        shapes[tuple(sign for sign, _ in runs)].append([run for _, run in runs])
    if len(shapes) > MOST_SHAPES:
        return None
    patterns = [_pattern(shape, runs) for shape, runs in sorted(shapes.items())]
    return f"^{patterns[0]}$" if len(patterns) == 1 else f"^({'|'.join(patterns)})$"


def _class(sign: str) -> str:
    if "A" <= sign <= "Z":
        return "A"
    if "a" <= sign <= "z":
        return "a"
    return "9" if "0" <= sign <= "9" else sign


def _pattern(shape: Sequence[str], texts: Sequence[Sequence[str]]) -> str:
    return "".join(_part(sign, set(runs)) for sign, runs in zip(shape, zip(*texts, strict=True), strict=True))


def _part(sign: str, runs: set[str]) -> str:
    """Return the pattern of a run: constant letters literally, other letters and digits as a class."""
    if sign in LETTERS and len(runs) == 1 and len(next(iter(runs))) <= LONGEST_WORD:
        return next(iter(runs))
    lengths = [len(run) for run in runs]
    return _CLASSES.get(sign, f"\\{sign}" if sign in SPECIAL else sign) + _times(min(lengths), max(lengths))


def _times(least: int, most: int) -> str:
    if least == most:
        return "" if least == 1 else f"{{{least}}}"
    return f"{{{least},{most}}}"
