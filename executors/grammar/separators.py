"""Converts numbers with a decimal comma or grouped digits to the one form that is parsed."""

from __future__ import annotations

import pyarrow as pa
import pyarrow.compute as pc

from executors.grammar.stages import matches, trim

SEPARATOR_PATTERNS = {".": r"\.", ",": ",", "'": "['’]", " ": "[ \u00a0\u202f]"}
"""Patterns of the characters that each separator matches, valid in Python and RE2."""

_WORDS = "NaN|-?Infinity"


def with_points(values: pa.Array, decimal: str, group: str | None) -> tuple[pa.Array, pa.BooleanArray]:
    """Rewrite texts as numbers with a point and without group separators; returns them, NULL for bad values, with the
    mask of bad values.

    Groups have three digits, except the first, which has one to three and does not begin with 0: `0.123` with `.` for
    groups is bad, as is a number with groups and an exponent. The type decides what is too large.
    """
    text = trim(values)
    bad = pc.and_not(pc.is_valid(text), matches(text, _pattern(decimal, group)))
    text = pc.if_else(bad, pa.scalar(None, pa.string()), text)
    if group is not None:
        text = pc.replace_substring_regex(text, SEPARATOR_PATTERNS[group], "")
    return pc.replace_substring(text, decimal, ".") if decimal != "." else text, bad


def _pattern(decimal: str, group: str | None) -> str:
    point = SEPARATOR_PATTERNS[decimal]
    plain = f"(?:[0-9]+(?:{point}[0-9]*)?|{point}[0-9]+)(?:[eE][+-]?[0-9]+)?"
    if group is not None:
        plain += f"|[1-9][0-9]{{0,2}}(?:{SEPARATOR_PATTERNS[group]}[0-9]{{3}})+(?:{point}[0-9]*)?"
    return f"^(?:[+-]?(?:{plain})|{_WORDS})$"
