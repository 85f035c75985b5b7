"""Recognizes dates and times in common notations, as strptime formats. Values decide whether the day or the month comes
first; it is never guessed."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache

import pyarrow as pa
import pyarrow.compute as pc

from executors.detection.numbers import RARE
from executors.grammar import Written, parse_column
from ir.types import ColumnType

_MOMENT = re.compile(
    r"(?P<date>\S+(?: \S+){0,2}?)"
    r"(?:(?P<gap>T| |, )(?P<clock>\d{1,2}:\d{2})(?P<seconds>:\d{2})?(?P<fraction>\.\d{1,6})?(?P<half> ?[AaPp][Mm])?"
    r"(?P<zone> ?(?:Z|[+-]\d{2}:?\d{2}))?)?"
)
_SHAPES: dict[str, tuple[str, ...]] = {
    "d.d.4": ("%d.%m.%Y",),
    "d.d.d": ("%d.%m.%y",),
    "d/d/4": ("%d/%m/%Y", "%m/%d/%Y"),
    "d/d/d": ("%d/%m/%y", "%m/%d/%y"),
    "d-d-4": ("%d-%m-%Y", "%m-%d-%Y"),
    "d-d-d": ("%d-%m-%y", "%m-%d-%y", "%y-%m-%d"),
    "4-d-d": ("%Y-%m-%d",),
    "4/d/d": ("%Y/%m/%d",),
    "4.d.d": ("%Y.%m.%d",),
    "8": ("%Y%m%d",),
    "d b 4": ("%d %b %Y",),
    "d-b-4": ("%d-%b-%Y",),
    "d-b-d": ("%d-%b-%y",),
    "d b d": ("%d %b %y",),
    "b d, 4": ("%b %d, %Y",),
    "b d 4": ("%b %d %Y",),
    "d B 4": ("%d %B %Y",),
    "B d 4": ("%B %d %Y",),
    "B d, 4": ("%B %d, %Y",),
}
"""Formats by the parts of a date: `d` is one or two digits, `4` and `8` that many digits, `b` three letters, `B` more.
In dates with points the day is first everywhere."""
_PART = re.compile(r"\d+|[A-Za-z]+")
_MOST_FORMATS = 3


@dataclass(frozen=True, slots=True)
class Dates:
    """The format of a column's dates. With `problem`, `open` or `mixed`, the values do not decide between `formats`."""

    kind: str
    formats: tuple[str, ...]
    problem: str = ""


@cache
def _date_formats(shape: str) -> tuple[str, ...]:
    return _SHAPES.get(shape, ())


def _kind_of(part: re.Match[str]) -> str:
    text = part[0]
    if text.isdigit():
        return "d" if len(text) <= 2 else str(len(text))
    return "b" if len(text) == 3 else "B"


def formats_of(text: str) -> tuple[str, ...]:
    """Return the formats that match a text by its form alone."""
    match = _MOMENT.fullmatch(text)
    if match is None:
        return ()
    dates = _date_formats(_PART.sub(_kind_of, match["date"]))
    return tuple(date + _clock_format(match) for date in dates) if dates else ()


def _clock_format(match: re.Match[str]) -> str:
    if match["clock"] is None:
        return ""
    hours = "%I:%M" if match["half"] else "%H:%M"
    half = match["half"].replace(match["half"].strip(), "%p") if match["half"] else ""
    zone = match["zone"].replace(match["zone"].strip(), "%z") if match["zone"] else ""
    return f"{match['gap']}{hours}{':%S' if match['seconds'] else ''}{'.%f' if match['fraction'] else ''}{half}{zone}"


def dates_of(texts: Sequence[str], known: Mapping[str, str]) -> Dates | None:
    """Return the format of these dates; None if they are not dates. `known` is the order in the file's other columns,
    `d` or `m`, by the separator."""
    groups: dict[tuple[str, ...], list[str]] = {}
    for text in texts:
        formats = formats_of(text.strip())
        groups.setdefault(formats, []).append(text)
    others = groups.pop((), [])
    if not groups or len(groups) > _MOST_FORMATS or len(others) * RARE > len(texts):
        return None
    kind = _kind_together(list(groups))
    if kind is None:
        return None
    chosen: list[str] = []
    for formats, held in sorted(groups.items(), key=lambda group: -len(group[1])):
        found = _choose(formats, held, ColumnType(kind), known)
        if found is None or found.problem:
            return found
        chosen += found.formats
    return Dates(kind, tuple(chosen))


def _kind_together(groups: Sequence[tuple[str, ...]]) -> str | None:
    zoned = ["%z" in formats[0] for formats in groups]
    if any(zoned):
        return "timestamptz" if all(zoned) else None
    return "timestamp" if any("%M" in formats[0] for formats in groups) else "date"


def _choose(formats: Sequence[str], texts: Sequence[str], kind: ColumnType, known: Mapping[str, str]) -> Dates | None:
    if len(formats) == 1:
        # Whether misfits are rare is decided later, by rows: here each distinct value counts once.
        return Dates(kind.kind, tuple(formats))
    values = pa.array(texts, pa.string())
    read = {one: parse_column(values, kind, Written((one,))) for one in formats}
    misses = {one: read[one][1].true_count for one in formats}
    least = min(misses.values())
    fitting = [one for one in formats if misses[one] == least]
    if least * RARE > len(texts):
        left = pc.and_(read[formats[0]][1], read[formats[1]][1]).true_count
        return None if left else Dates(kind.kind, tuple(formats), "mixed")
    if len(fitting) == 1:
        return Dates(kind.kind, (fitting[0],))
    # Days such as 02/02 are the same in each order, but those of later files need not be.
    by_file = [one for one in fitting if known.get(sign_of(one)) == order_of(one)]
    if len(by_file) == 1:
        return Dates(kind.kind, (by_file[0],))
    return Dates(kind.kind, tuple(fitting), "open")


def sign_of(format: str) -> str:
    """Return the separator of a date."""
    return format[2:3]


def order_of(format: str) -> str:
    """Return `d` or `m`, whichever is first; other formats begin with the year."""
    return format[1:2]


def read_dates(values: pa.Array, dates: Dates) -> tuple[pa.Array, pa.BooleanArray]:
    """Parse each value with the first format that matches, as (typed, bad)."""
    return parse_column(values, ColumnType(dates.kind), Written(dates.formats))
