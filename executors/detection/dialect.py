"""Delimiter, quote and header of delimited text."""

from __future__ import annotations

import csv
import io
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import islice, pairwise

from executors.detection.model import GivenSettings, Problem
from executors.formats.separator_line import split_separator_line

DELIMITERS = (",", ";", "\t", "|")
QUOTES = ('"', "'")
_TEXT = 64 << 10
_RECORDS, _CELLS = 200, 2_000
_LEAST_SHARE = 0.6
"""The minimum share of records with the same number of values. With the right delimiter most have the same number."""

_NUMBER = r"[+-]?(?:\d+(?:[., '\u00a0\u202f]\d+)*|[.,]\d+)(?:[eE][+-]?\d+)?"
_DATE = r"\d{1,4}[-./]\d{1,2}[-./]\d{1,4}(?:[T ,]+\d{1,2}:\d{2}\S*(?: [AaPp][Mm])?)?"
_TIME = r"\d{1,2}:\d{2}(?::\d{2}(?:\.\d+)?)?"
_UUID = r"[0-9A-Fa-f]{8}(?:-[0-9A-Fa-f]{4}){3}-[0-9A-Fa-f]{12}"
_TYPED = re.compile(
    rf"\s*(?:{_NUMBER}\s?[%€$£]?|[€$£]\s?{_NUMBER}|{_DATE}|{_TIME}|{_UUID}|true|false)\s*", re.IGNORECASE
)
_YEAR = re.compile(r"(?:19|20)\d{2}")
_CLEAN = re.compile(rf"{_TYPED.pattern}|[^,;\t|]*", re.IGNORECASE)

Records = Sequence[list[str]]


@dataclass(frozen=True, slots=True)
class Head:
    text: str
    is_whole: bool


@dataclass(frozen=True, slots=True)
class Dialect:
    delimiter: str
    quote: str
    header: bool
    ends_with_delimiter: bool
    problems: tuple[Problem, ...] = ()


def dialect_of(text: str, given: GivenSettings, *, is_whole: bool) -> Dialect:
    """Return the settings with which the text looks most like a table. A text that is not whole may end within a
    record."""
    named, text = split_separator_line(text)
    head = Head(text[:_TEXT], is_whole and len(text) <= _TEXT)
    delimiter, quote = _separators(head, replace(given, delimiter=given.delimiter or named or None))
    records = _records(head, delimiter, quote)
    header, problems = (given.header, []) if given.header is not None else _header(records)
    problems = [*_named_delimiter(named), *(list(_before_header(records)) or problems)]
    ends = all(record[-1] == "" for record in records[1:])
    return Dialect(delimiter, quote, header, ends, tuple(problems))


# --- separators --------------------------------------------------------------------------------------------------


def _separators(head: Head, given: GivenSettings) -> tuple[str, str]:
    delimiters = (given.delimiter,) if given.delimiter else DELIMITERS
    if given.type == "tsv" and not given.delimiter:
        delimiters = ("\t",)
    quotes = (given.quote,) if given.quote else tuple(quote for quote in QUOTES if quote == '"' or quote in head.text)
    scores = {
        (delimiter, quote): _score(_records(head, delimiter, quote))
        for delimiter in delimiters
        for quote in quotes
        if delimiter != quote
    }
    best = max(scores, key=lambda pair: scores[pair], default=(delimiters[0], quotes[0]))
    if scores.get(best, 0) > 0 or len(delimiters) == 1:
        return best
    return next((d for d in delimiters if d not in head.text), delimiters[0]), quotes[0]


def _records(head: Head, delimiter: str, quote: str) -> Records:
    """Return the first complete records."""
    try:
        reader = csv.reader(io.StringIO(head.text, newline=""), delimiter=delimiter, quotechar=quote)
        records = list(islice((record for record in reader if record), _RECORDS + 1))
    except (csv.Error, TypeError, ValueError):
        return []
    return records[:_RECORDS] if head.is_whole or len(records) < 2 else records[:-1]


def _score(records: Records) -> float:
    """Rate records; 0 if they have one column or are not a table."""
    if not records:
        return 0.0
    cells = list(islice((cell for record in records for cell in record), _CELLS))
    clean = sum(1 for cell in cells if _CLEAN.fullmatch(cell)) / len(cells)
    # Lines may end with a delimiter, where the header does not.
    widths = (list(map(len, records)), [len(record) - (record[-1] == "") for record in records])
    return 0.0 if _are_fractions(records) else max(map(_evenness, widths)) * (0.25 + clean)


def _are_fractions(records: Records) -> bool:
    """Whether a delimiter splits numbers at their decimal commas under one name."""
    first, *below = records
    return (
        len(first) == 1 and bool(below) and all(len(record) <= 2 and all(map(str.isdigit, record)) for record in below)
    )


def _evenness(widths: Sequence[int]) -> float:
    width, times = Counter(widths).most_common(1)[0]
    share = times / len(widths)
    if width < 2 or share < _LEAST_SHARE:
        return 0.0
    return share * (1.0 if widths[0] == width else 0.8) * (1 - 0.5 / width)


def _named_delimiter(named: str) -> Iterator[Problem]:
    if named:
        message = f"The first line, sep={named}, names the delimiter. It is neither a row nor the header."
        yield Problem("delimiter.named", message, "Nothing needs to be done: runs leave this line out, too.")


# --- header ------------------------------------------------------------------------------------------------------


def has_header(records: Records) -> bool:
    """Return whether the first record seems to contain names."""
    return _header(records)[0]


def _header(records: Records) -> tuple[bool, list[Problem]]:
    """Detect whether the first record contains names. If all values are text, this is unsure."""
    if not records:
        return True, []
    first, below = records[0], records[1:51]
    filled = [cell for cell in first if cell.strip()]
    typed = [cell for cell in filled if _TYPED.fullmatch(cell)]
    if typed and not _are_years(typed):
        return False, []
    columns = _columns([record for record in below if record != first], len(first))
    if any(_is_typed(column) for column in columns):
        return True, list(_repeated_header(records))
    columns = _columns(below, len(first))
    if not filled or len(set(filled)) < len(filled) or any(map(_repeats, first, columns)):
        return False, []
    if not below:
        return True, []
    message = "All values in the file are text, so Flow cannot detect whether the first line contains column names."
    return True, [Problem("header.unsure", message, "It is read as names. Turn the header off if it is a row.")]


def _columns(records: Records, width: int) -> list[list[str]]:
    """The values of each column that are not blank."""
    return [[record[at] for record in records if at < len(record) and record[at].strip()] for at in range(width)]


def _repeated_header(records: Records) -> Iterator[Problem]:
    """Find the names among the rows, as in files that were joined."""
    if again := next((at for at, record in enumerate(records[1:], 2) if record == records[0]), None):
        message = f"Record {again} repeats the names of the columns, as if files had been joined."
        yield Problem("header.repeated", message, "To a run it is a row like any other. Remove it from the file.")


def _is_typed(column: Sequence[str]) -> bool:
    return bool(column) and sum(1 for cell in column if _TYPED.fullmatch(cell)) >= len(column) * 0.8


def _repeats(cell: str, column: Sequence[str]) -> bool:
    return bool(cell.strip()) and cell in column


def _are_years(cells: Sequence[str]) -> bool:
    """Whether the names are years such as 2019, 2020, 2021."""
    if len(cells) < 2 or not all(_YEAR.fullmatch(cell) for cell in cells):
        return False
    years = list(map(int, cells))
    return all(b - a == 1 for a, b in pairwise(years))


def _before_header(records: Records) -> Iterator[Problem]:
    """Find lines above the table, which no setting skips."""
    if len(records) < 3:
        return
    width, times = Counter(map(len, records)).most_common(1)[0]
    if len(records[0]) + 1 >= width or times < len(records) * _LEAST_SHARE:
        return
    at = next(place for place, record in enumerate(records, 1) if len(record) == width)
    yield Problem(
        "header.below",
        f"The first record has {len(records[0])} of the {width} values that most records have; the table seems to "
        f"begin at record {at}.",
        "Remove the lines above the column names.",
    )
