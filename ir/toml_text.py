"""Parses TOML text. Independent of pipelines."""

from __future__ import annotations

import re
import tomllib
from decimal import Decimal, InvalidOperation
from typing import Any

from ir.budget import spend
from ir.json_text import is_exact
from ir.limits import MAX_DEPTH, MAX_VALUES

# Repeated groups are in (?>…): before Python 3.11.5, a possessive repeat of a group reports a wrong position.
_KEY_PART = r"""(?:[A-Za-z0-9_-]++|"(?>(?:[^"\\\n]++|\\.)*)"|'[^'\n]*+')"""
_PARTS = re.compile(_KEY_PART)
_LONG_TEXT = r'"""(?>(?:[^"\\]++|\\.|"(?!""))*)(?>(?:""")?)|\'\'\'(?>(?:[^\']++|\'(?!\'\'))*)(?>(?:\'\'\')?)'
_PART = r"""(?:[A-Za-z0-9_-]++|"(?>(?:[^"\\\n]++|\\.)*)"?+|'[^'\n]*+'?+)"""
"""A part of a key. If its quotes are not closed, it matches the rest, so that no character is read twice."""
_TOKEN = re.compile(rf"{_LONG_TEXT}|#[^\n]*+|({_PART}(?>(?:[ \t]*+\.[ \t]*+{_PART})*))|[\[{{]", re.DOTALL)
"""A token of a text, recognized by its first characters: a long string, a comment, a key or a plain value (the group),
or the beginning of a table or list."""
_MOST_TOKENS = 4 * MAX_VALUES
_MOST_KEY_STEPS = 500_000
"""Python's TOML parser traverses a dotted key again for each of its parts, so a key of n parts takes n² steps."""
_POSITION = re.compile(r"(.*) \(at (?:line (\d+), column (\d+)|end of document)\)", re.DOTALL)


class TomlSyntaxError(ValueError):
    """The text is not valid TOML. `line` and `column` count from 1; None at the end of the text."""

    def __init__(self, error: ValueError) -> None:
        placed = _POSITION.fullmatch(str(error))
        message, line, column = placed.groups() if placed else (str(error), None, None)
        super().__init__(message)
        self.is_repeated_key = message.startswith(("Cannot overwrite", "Cannot declare"))
        self.line = int(line) if line else None
        self.column = int(column) if column else None


class TomlTooLarge(ValueError):
    """Parsing the text would take too long. `code` is that of the diagnostic."""

    def __init__(self, code: str, message: str, offset: int) -> None:
        super().__init__(message)
        self.code, self.offset = code, offset


def _check_size(text: str) -> None:
    """Refuse a text that takes the parser too long, because the parser cannot be interrupted. Raises TomlTooLarge."""
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
    """Parse the text; raises TomlSyntaxError, TomlTooLarge, and RecursionError for extreme nesting. A number that a
    double cannot represent is a Decimal."""
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
