"""The shapes of texts: letters and digits in runs, and the pattern that most of them share."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Sequence
from itertools import groupby

MOST_SHAPES = 2
LONGEST = 40
_CLASSES = (("A", "[A-Z]"), ("a", "[a-z]"), ("9", "[0-9]"))


def pattern_of(texts: Sequence[tuple[str, int]]) -> str | None:
    """One pattern for all texts, each with how often it is there; None if they have too little in common."""
    if any(len(text) > LONGEST or not text.isascii() for text, _ in texts):
        return None
    shapes: dict[tuple[str, ...], list[tuple[int, ...]]] = defaultdict(list)
    for text, _ in texts:
        runs = [(sign, len(list(group))) for sign, group in groupby(map(_class, text))]
        shapes[tuple(sign for sign, _ in runs)].append(tuple(length for _, length in runs))
    if len(shapes) > MOST_SHAPES:
        return None
    patterns = [_pattern(shape, lengths) for shape, lengths in sorted(shapes.items())]
    return f"^{patterns[0]}$" if len(patterns) == 1 else f"^({'|'.join(patterns)})$"


def _class(sign: str) -> str:
    if "A" <= sign <= "Z":
        return "A"
    if "a" <= sign <= "z":
        return "a"
    return "9" if "0" <= sign <= "9" else sign


def _pattern(shape: Sequence[str], lengths: Iterable[tuple[int, ...]]) -> str:
    named = dict(_CLASSES)
    spans = [(min(column), max(column)) for column in zip(*lengths, strict=True)]
    return "".join(
        named.get(sign, re.escape(sign)) + _times(least, most) for sign, (least, most) in zip(shape, spans, strict=True)
    )


def _times(least: int, most: int) -> str:
    if least == most:
        return "" if least == 1 else f"{{{least}}}"
    return f"{{{least},{most}}}"
