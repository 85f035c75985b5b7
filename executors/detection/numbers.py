"""Recognizes numbers in common notations: which character is the decimal separator and which the group separator."""

from __future__ import annotations

import functools
import re
from collections.abc import Collection, Sequence
from dataclasses import dataclass

import pyarrow as pa
import pyarrow.compute as pc

from executors.grammar import Written, parse_column
from executors.grammar.separators import SEPARATOR_PATTERNS
from ir.types import ColumnType

MOST_PRECISION = 38
_USUAL_PRECISION = 18
_DOUBLE_DIGITS = 17


@dataclass(frozen=True, slots=True)
class Separators:
    """The separators of numbers. `group` is '' if digits are not grouped."""

    decimal: str = "."
    group: str = ""

    @property
    def pattern(self) -> str:
        """Return a pattern that is valid in Python and RE2."""
        fraction = f"(?:{SEPARATOR_PATTERNS[self.decimal]}[0-9]+)?"
        if not self.group:
            return rf"[+-]?[0-9]+{fraction}"
        return rf"[+-]?(?:[0-9]{{1,3}}(?:{SEPARATOR_PATTERNS[self.group]}[0-9]{{3}})+|[0-9]{{1,3}}){fraction}"

    @property
    def written(self) -> Written:
        """Return the separators as settings of a column."""
        return Written(decimal=self.decimal, group=self.group or None)


PLAIN = Separators()
SEPARATORS = (
    PLAIN,
    Separators(","),
    *(Separators(".", group) for group in (",", "'", " ")),
    *(Separators(",", group) for group in (".", " ", "'")),
)
"""Simpler separators first."""
_PLAIN = re.compile(PLAIN.pattern)
_LIKE_GROUPS = re.compile(r"[+-]?[1-9][0-9]{0,2}\.[0-9]{3}")
RARE = 100
"""If fewer values than one in this number differ, they may be errors."""


@dataclass(frozen=True, slots=True)
class Choice:
    """`separators` if the texts, or the file's other columns, decide; `is_open` if the texts can be read as different
    numbers."""

    separators: Separators | None
    is_open: bool = False


def choose(values: pa.Array, sample: Sequence[str], known: Collection[str]) -> Choice:
    """Return the separators of these numbers. `known` are the decimal separators of other columns of the file."""
    if all(map(_PLAIN.fullmatch, sample)) and not _may_be_groups(sample):
        return Choice(PLAIN)
    text = pc.ascii_trim_whitespace(values)
    fits = {one: pc.match_substring_regex(text, f"^(?:{one.pattern})$") for one in SEPARATORS}
    misses = {one: len(text) - fit.true_count for one, fit in fits.items()}
    least = min(misses.values())
    if least * RARE > len(text):
        return Choice(None)
    fitting = [one for one in SEPARATORS if misses[one] == least]
    common = text.filter(functools.reduce(pc.and_, (fits[one] for one in fitting)))
    readings = {one: parse_column(common, ColumnType("float"), one.written)[0] for one in fitting}
    if all(reading.equals(readings[fitting[0]]) for reading in readings.values()):
        return Choice(fitting[0])
    by_file = [one for one in fitting if one.decimal in known]
    if len(known) == 1 and by_file and all(readings[one].equals(readings[by_file[0]]) for one in by_file):
        return Choice(by_file[0])
    return Choice(fitting[0], is_open=True)


def _may_be_groups(sample: Sequence[str]) -> bool:
    """Whether each point can be a group separator."""
    pointed = [text for text in sample if "." in text]
    return bool(pointed) and all(map(_LIKE_GROUPS.fullmatch, pointed))


def decimal_type(texts: Sequence[str]) -> ColumnType | None:
    """Return a decimal type for these plain numbers with room for larger ones; None for whole numbers, and if no type
    fits."""
    whole, scale = 1, 0
    for text in texts:
        before, _, after = text.strip(" \t\r\n\v\f+-").partition(".")
        whole, scale = max(whole, len(before)), max(scale, len(after))
    if not scale or whole + scale > MOST_PRECISION:
        return None
    return ColumnType("decimal", max(_USUAL_PRECISION, whole + scale), scale)


def fits_double(text: str) -> bool:
    """Whether a double represents all its digits."""
    digits = re.sub(r"[eE].*|\D", "", text).strip("0")
    return len(digits) <= _DOUBLE_DIGITS
