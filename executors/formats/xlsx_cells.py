"""The values of the cells of an Excel workbook as text: numbers as written, dates by the style of their cell."""

from __future__ import annotations

import re
from datetime import date, datetime, timedelta
from decimal import Decimal
from typing import Literal

Style = Literal["number", "date", "timestamp", "time", "elapsed"]

_BUILT_IN: dict[int, Style] = {
    **dict.fromkeys((14, 15, 16, 17, *range(27, 32), 34, 35, 36, *range(50, 59)), "date"),
    **dict.fromkeys((18, 19, 20, 21, 32, 33, 45, 47), "time"),
    22: "timestamp",
    46: "elapsed",
}
_LITERAL = re.compile(r'"[^"]*"|\\.|_.|\*.|\[(?!(?:h+|m+|s+)\])[^\]]*\]', re.IGNORECASE)
_ELAPSED = re.compile(r"\[(?:h+|m+|s+)\]", re.IGNORECASE)
_HALF = re.compile(r"am/pm|a/p")
_MINUTES = re.compile(r"h+[^a-z]*m+|m+[^a-z]*s+", re.IGNORECASE)
_MOST_DIGITS = 40
_FALSE_LEAP_DAY = 60
"""Excel has a 29 February 1900, which never was."""
_MS_PER_DAY = 86_400_000
_NUMBER = re.compile(r"[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?", re.ASCII)
_EXCEL_DIGITS = 17
_ESCAPED = re.compile(r"_x([0-9A-Fa-f]{4})_")


class BadCellError(Exception):
    """A cell without a value of its kind. The text gives the reason."""


def style_of(number: int, code: str | None) -> Style:
    """Return what a number format shows, by its number and its code."""
    if code is None:
        return _BUILT_IN.get(number, "number")
    plain = _LITERAL.sub("", code).split(";")[0].lower()
    if plain.strip() == "general":
        return "number"
    if _ELAPSED.search(plain):
        return "elapsed"
    without_minutes = _MINUTES.sub("t", _HALF.sub("h", plain))
    has_date = any(sign in without_minutes for sign in "ydm")
    has_time = any(sign in without_minutes for sign in "hst")
    if has_date:
        return "timestamp" if has_time else "date"
    return "time" if has_time else "number"


def text_of_number(text: str, style: Style, *, from_1904: bool) -> str:
    """Return the text of a number with a style. Raises BadCellError."""
    text = text.strip()
    if not _NUMBER.fullmatch(text):
        raise BadCellError(f"{text!r} is not a number")
    value = Decimal(text)
    if style == "number":
        return _plain(*_shortest(value, text))
    return _moment(value, style, from_1904)


def _shortest(value: Decimal, text: str) -> tuple[Decimal, str]:
    """Excel writes the number that it shows as 1.1 with 17 digits, as 1.1000000000000001. Return the shortest number
    that is the same for Excel. A number with another count of digits was written by another program, and stays."""
    if len(value.normalize().as_tuple().digits) != _EXCEL_DIGITS or value == value.to_integral_value():
        return value, text
    shortest = repr(float(value))
    return Decimal(shortest), shortest


def text_without_escapes(text: str) -> str:
    """Return a text as Excel shows it: `_x000D_` stands for the character with this code, `_x005F_` for `_`. A code of
    half a character stays as it is written."""

    def character(match: re.Match[str]) -> str:
        code = int(match[1], 16)
        return match[0] if 0xD800 <= code <= 0xDFFF else chr(code)

    return _ESCAPED.sub(character, text) if "_x" in text else text


def boolean_of(text: str) -> str:
    """Return true or false. Raises BadCellError."""
    if text not in ("0", "1", "true", "false"):
        raise BadCellError(f"{text!r} is neither true nor false")
    return "true" if text in ("1", "true") else "false"


def _plain(value: Decimal, text: str) -> str:
    if abs(value.adjusted()) > _MOST_DIGITS:
        return text
    if value == value.to_integral_value():
        return f"{value.to_integral_value():f}".removeprefix("-") if not value else f"{value.to_integral_value():f}"
    return f"{value:f}" if "e" in text.lower() else text


def _moment(value: Decimal, style: Style, from_1904: bool) -> str:
    """Excel counts days. Milliseconds are as much as its numbers can hold."""
    millis = int((value * _MS_PER_DAY).to_integral_value())
    if millis < 0:
        raise BadCellError("its date is before the first day of the workbook")
    days, rest = divmod(millis, _MS_PER_DAY)
    if style == "elapsed":
        hours, left = divmod(millis, 3_600_000)
        return f"{hours:02d}:{_clock(left)[3:]}"
    if style == "time" and not days:
        return _clock(rest)
    day = _day(days, from_1904).isoformat()
    return day if style == "date" and not rest else f"{day} {_clock(rest)}"


def _day(days: int, from_1904: bool) -> date:
    if from_1904:
        first = date(1904, 1, 1)
    elif days == _FALSE_LEAP_DAY:
        raise BadCellError("its date is 29 February 1900, which does not exist")
    elif not days:
        raise BadCellError("its date is 0 January 1900, which does not exist")
    else:
        first = date(1899, 12, 30 if days > _FALSE_LEAP_DAY else 31)
    try:
        return first + timedelta(days)
    except OverflowError as error:
        raise BadCellError("its date is after the year 9999") from error


def _clock(millis: int) -> str:
    moment = (datetime.min + timedelta(milliseconds=millis)).time()
    return moment.isoformat("milliseconds" if millis % 1000 else "seconds")


def column_number(letters: str) -> int:
    """Return the number of a column, from 0: A is 0, AA is 26."""
    number = 0
    for letter in letters:
        number = number * 26 + ord(letter) - 64
    return number - 1


def column_letters(number: int) -> str:
    letters = ""
    number += 1
    while number:
        number, rest = divmod(number - 1, 26)
        letters = chr(65 + rest) + letters
    return letters
