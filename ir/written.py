"""The notation of dates and numbers in text: settings of columns with a type."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from datetime import date, datetime
from typing import Annotated, Literal

from pydantic import Field

from ir.annotations import OneOrMany
from ir.base import Text
from ir.diagnostics import Diagnostic, diagnose, shown
from ir.pointers import Pointer
from ir.types import ColumnType

MAX_FORMATS = 10
_WITH_FORMAT = ("date", "timestamp", "timestamptz")
_NUMBERS = ("integer", "bigint", "float", "decimal")
_SAMPLES = (datetime(2001, 2, 3, 14, 5, 6), datetime(2001, 3, 2, 14, 5, 6))

Formats = Annotated[Text | Annotated[list[Text], Field(min_length=1, max_length=MAX_FORMATS)], OneOrMany()]
DecimalSeparator = Literal[".", ","]
GroupSeparator = Literal[".", ",", " ", "'"]

FORMAT: Formats | None = Field(
    None,
    description="The format of a date or time, as for Python's strptime. Of several formats, the first that matches "
    "the whole value applies.",
    examples=["%d/%m/%Y"],
)
DECIMAL_SEPARATOR: DecimalSeparator = Field(
    ".",
    description="The character before the fraction of a number.",
    json_schema_extra={"labels": {".": "point", ",": "comma"}},
)
GROUP_SEPARATOR: GroupSeparator | None = Field(
    None,
    description="The separator of groups of three digits. Numbers without groups are accepted too. "
    "The space includes no-break spaces, the apostrophe the typographic one.",
    json_schema_extra={"labels": {".": "point", ",": "comma", " ": "space", "'": "apostrophe"}},
)


def formats_of(written: str | Sequence[str] | None) -> tuple[str, ...]:
    """Return one format, several or none as a tuple."""
    if written is None:
        return ()
    return (written,) if isinstance(written, str) else tuple(written)


def check_formats(kind: str, written: str | Sequence[str] | None, at: Pointer) -> Iterator[Diagnostic]:
    if written is not None and kind not in _WITH_FORMAT:
        yield diagnose("column.format_unused", at, f"A column of type {kind} cannot have a format.")
        return
    formats = formats_of(written)
    for number, text in enumerate(formats):
        place = at if isinstance(written, str) else at / number
        if text in formats[:number]:
            yield diagnose("column.format_repeated", place, f"The format {shown(text)} is listed twice.")
        elif not _reads_back(text):
            message = f"{shown(text)} does not describe a complete date for Python's strptime."
            yield diagnose("value.malformed", place, message, hint="Use for example %d/%m/%Y or %Y-%m-%d %H:%M:%S.")
        elif other := next((before for before in formats[:number] if _differ(before, text)), None):
            message = (
                f"{shown(text)} reads some texts as another day than {shown(other)}, which comes first and counts."
            )
            yield diagnose("column.formats_ambiguous", place, message)


def check_separators(kind: str, decimal: str, group: str | None, at: Pointer) -> Iterator[Diagnostic]:
    is_number = ColumnType.parse(kind).kind in _NUMBERS
    for name, is_set in (("decimalSeparator", decimal != "."), ("groupSeparator", group is not None)):
        if is_set and not is_number:
            yield diagnose("column.separator_unused", at / name, f"A column of type {kind} cannot have a {name}.")
    if is_number and decimal == group:
        message = f"{shown(decimal)} cannot separate both groups and the fraction."
        yield diagnose("column.separators_equal", at / "groupSeparator", message)


def _reads_back(text: str) -> bool:
    day = _SAMPLES[0]
    return _day_of(day, text, text) == day.date()


def _differ(one: str, other: str) -> bool:
    """Return whether a text exists that the two formats parse as different days."""
    return any(_day_of(day, one, other) not in (None, day.date()) for day in _SAMPLES)


def _day_of(day: datetime, written: str, read: str) -> date | None:
    try:
        return datetime.strptime(day.strftime(written), read).date()
    except (ValueError, re.error):  # strptime converts it to a regex, in which no part may be repeated
        return None
