"""Reads TOML text, and finds the line of a value. Knows nothing of pipelines."""

from __future__ import annotations

import re
import tomllib
from decimal import Decimal, InvalidOperation
from typing import Any

from ir.budget import spend
from ir.json_text import is_exact
from ir.limits import MAX_DEPTH, MAX_VALUES
from ir.pointers import ROOT, Pointer

_KEY_PART = r"""(?:[A-Za-z0-9_-]++|"(?:[^"\\\n]|\\.)*+"|'[^'\n]*+')"""
_KEY = rf"{_KEY_PART}(?:\s*\.\s*{_KEY_PART})*"
_HEADER = re.compile(rf"\s*(\[\[?)\s*({_KEY})\s*\]")
_MEMBER = re.compile(rf"\s*({_KEY})\s*=")
_PARTS = re.compile(_KEY_PART)
_FENCES = re.compile(r'"""|\'\'\'')
_LONG_TEXT = r'"""(?:[^"\\]|\\.|"(?!""))*+(?:""")?+|\'\'\'(?:[^\']|\'(?!\'\'))*+(?:\'\'\')?+'
_PART = r"""(?:[A-Za-z0-9_-]++|"(?:[^"\\\n]|\\.)*+"?+|'[^'\n]*+'?+)"""
"""A part of a key; where its quotes do not end it takes the rest, so that no sign is looked at twice."""
_TOKEN = re.compile(rf"{_LONG_TEXT}|#[^\n]*+|({_PART}(?:[ \t]*+\.[ \t]*+{_PART})*+)|[\[{{]", re.DOTALL)
"""What a text consists of, by the first sign that tells: a long string, a comment, a key or a plain value (the group),
or the beginning of a table or list."""
_MOST_TOKENS = 4 * MAX_VALUES
_MOST_KEY_STEPS = 500_000
"""Python's TOML reader walks each part of a dotted key from the first part on, so a key of n parts takes n² steps."""
_POSITION = re.compile(r"(.*) \(at (?:line (\d+), column (\d+)|end of document)\)", re.DOTALL)


class TomlSyntaxError(ValueError):
    """The text is no TOML. `line` and `column` count from 1; None at the end of the text."""

    def __init__(self, error: ValueError) -> None:
        placed = _POSITION.fullmatch(str(error))
        message, line, column = placed.groups() if placed else (str(error), None, None)
        super().__init__(message)
        self.is_repeated_key = message.startswith(("Cannot overwrite", "Cannot declare"))
        self.line = int(line) if line else None
        self.column = int(column) if column else None


class TomlTooLarge(ValueError):
    """The text would take the reader too long. `code` is that of the diagnostic."""

    def __init__(self, code: str, message: str, offset: int) -> None:
        super().__init__(message)
        self.code, self.offset = code, offset


def _check_size(text: str) -> None:
    """Refuse what the reader would take long for; nothing can interrupt it. Raises TomlTooLarge."""
    tokens = steps = 0
    for token in _TOKEN.finditer(text):
        tokens += 1
        parts = len(_PARTS.findall(token[1])) if token[1] and "." in token[1] else 1
        steps += parts * parts
        if parts > MAX_DEPTH:
            raise TomlTooLarge(
                "document.too_deep", f"Values are nested more than {MAX_DEPTH} levels deep.", token.start()
            )
        if tokens > _MOST_TOKENS or steps > _MOST_KEY_STEPS:
            raise TomlTooLarge("document.too_large", f"There are more than {MAX_VALUES} values.", token.start())
    spend(3 * tokens + steps // 5)


def read_toml(text: str) -> dict[str, Any]:
    """The value of the text; raises TomlSyntaxError, TomlTooLarge, and RecursionError for absurd nesting.

    A number that a double cannot hold is given as a Decimal.
    """
    _check_size(text)
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
        spend(3)
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
    pointer = ROOT
    for i, part in enumerate(key):
        pointer = pointer / part
        if opens_item and i == len(key) - 1:
            counts[pointer] = counts.get(pointer, -1) + 1
        if pointer in counts:
            pointer = pointer / counts[pointer]
    return pointer
