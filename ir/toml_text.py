"""Reads TOML text, and finds the line of a value. Knows nothing of pipelines."""

from __future__ import annotations

import re
import tomllib
from decimal import Decimal, InvalidOperation
from typing import Any

from ir.json_text import is_exact
from ir.pointers import ROOT, Pointer

_KEY_PART = r"""(?:[A-Za-z0-9_-]+|"(?:[^"\\]|\\.)*"|'[^']*')"""
_KEY = rf"{_KEY_PART}(?:\s*\.\s*{_KEY_PART})*"
_HEADER = re.compile(rf"\s*(\[\[?)\s*({_KEY})\s*\]")
_MEMBER = re.compile(rf"\s*({_KEY})\s*=")
_PARTS = re.compile(_KEY_PART)
_FENCES = re.compile(r'"""|\'\'\'')
_PLACE = re.compile(r"(.*) \(at (?:line (\d+), column (\d+)|end of document)\)", re.DOTALL)


class TomlSyntaxError(ValueError):
    """The text is no TOML. `line` and `column` count from 1; None at the end of the text."""

    def __init__(self, error: ValueError) -> None:
        placed = _PLACE.fullmatch(str(error))
        message, line, column = placed.groups() if placed else (str(error), None, None)
        super().__init__(message)
        self.is_repeated_key = message.startswith(("Cannot overwrite", "Cannot declare"))
        self.line = int(line) if line else None
        self.column = int(column) if column else None


def read_toml(text: str) -> dict[str, Any]:
    """The value of the text; raises TomlSyntaxError, and RecursionError for absurd nesting.

    A number that a double cannot hold is given as a Decimal.
    """
    try:
        return tomllib.loads(text, parse_float=_number)
    except ValueError as error:  # TOMLDecodeError, or an integer of thousands of digits
        raise TomlSyntaxError(error) from error


def _number(digits: str) -> float | Decimal:
    if digits.lstrip("+-") in ("nan", "inf"):
        return float(digits)
    plain = digits.replace("_", "")
    if is_exact(plain):
        return float(plain)
    try:
        return Decimal(plain)
    except InvalidOperation:
        raise ValueError(f"{digits} has an exponent that is too large") from None


def find_lines(text: str) -> dict[Pointer, int]:
    """Where tables, array items and the members written on a line of their own begin: lines by pointer, from 1.

    Members of inline tables have no entry: look for the nearest one above.
    """
    lines: dict[Pointer, int] = {ROOT: 1}
    table, counts, inside = ROOT, dict[Pointer, int](), False
    for number, line in enumerate(text.split("\n"), 1):
        if not inside and (header := _HEADER.match(line)):
            table = _resolve(_parts(header[2]), counts, opens_item=header[1] == "[[")
            lines.setdefault(table, number)
        elif not inside and (member := _MEMBER.match(line)):
            lines.setdefault(Pointer(table + _parts(member[1])), number)
        inside ^= len(_FENCES.findall(line)) % 2 == 1
    return lines


def _parts(key: str) -> Pointer:
    return Pointer(part.strip("\"'") for part in _PARTS.findall(key))


def _resolve(key: Pointer, counts: dict[Pointer, int], *, opens_item: bool) -> Pointer:
    """The pointer of a header's table: below the newest item of each array of tables on its way."""
    place = ROOT
    for i, part in enumerate(key):
        place = place / part
        if opens_item and i == len(key) - 1:
            counts[place] = counts.get(place, -1) + 1
        if place in counts:
            place = place / counts[place]
    return place
