"""Checks of lower and upper bounds: at least one exists, they have the same type, and they are in order."""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import date, datetime
from decimal import Decimal, InvalidOperation
from typing import Any

from ir.diagnostics import Diagnostic, diagnose, shown
from ir.pointers import Pointer

_DATE = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}")
_TIMESTAMP = re.compile(_DATE.pattern + r"[T ][0-9]{2}:[0-9]{2}(:[0-9]{2}(\.[0-9]{1,6})?)?")

Bound = Decimal | date | datetime

MOST_DIGITS = 131_072
"""The maximum number of digits before the point, and of zeros after it: that of a `numeric`. A comparison may need all
digits of a bound."""


def parse_bound(value: int | float | str) -> Bound:
    """Parse a bound: a number, date or timestamp without offset. Raises ValueError."""
    if not isinstance(value, str):
        return Decimal(repr(value))
    text = value.strip()
    try:
        number = Decimal(text)
    except InvalidOperation:
        return _parse_time(text)
    # Decimal also parses `1_000`, `NaN` and digits of other scripts.
    if not number.is_finite() or "_" in text or not text.isascii():
        raise ValueError(f"{value!r} is not a number")
    if abs(number.adjusted()) > MOST_DIGITS:
        raise ValueError(f"{value!r} is not a number that a column can store")
    return number


def _parse_time(text: str) -> date | datetime:
    if _DATE.fullmatch(text):
        return date.fromisoformat(text)
    if _TIMESTAMP.fullmatch(text):
        return datetime.fromisoformat(text)
    raise ValueError(f"{text!r} is not a number, date or timestamp without an offset")


def check_bounds(low: Any, high: Any, at: Pointer, names: tuple[str, str] = ("min", "max")) -> Iterator[Diagnostic]:
    """Check `low` and `high`, either of which may be None: one must be present, and they must be in order."""
    if low is None and high is None:
        yield diagnose("bounds.required", at, f"{names[0]} and {names[1]} are both missing.")
    parsed: list[Bound] = []
    for value, name in ((low, names[0]), (high, names[1])):
        if value is None:
            continue
        try:
            parsed.append(parse_bound(value))
        except ValueError:
            yield diagnose("bounds.malformed", at / name, f"{shown(value)} is not a number, date or timestamp.")
    if len(parsed) == 2:
        yield from _check_order(parsed[0], parsed[1], at, names)


def check_number_bounds(
    low: Any, high: Any, at: Pointer, names: tuple[str, str] = ("min", "max")
) -> Iterator[Diagnostic]:
    """Check bounds that must be numbers."""
    yield from check_bounds(low, high, at, names)
    for value, name in ((low, names[0]), (high, names[1])):
        if isinstance(value, str) and _is_time(value):
            yield diagnose("bounds.malformed", at / name, f"{shown(value)} is not a number.", hint="Use a number.")


def _is_time(text: str) -> bool:
    try:
        return not isinstance(parse_bound(text), Decimal)
    except ValueError:
        return False


def _check_order(low: Any, high: Any, at: Pointer, names: tuple[str, str]) -> Iterator[Diagnostic]:
    if type(low) is not type(high):
        yield diagnose("bounds.malformed", at / names[1], f"{names[0]} and {names[1]} have different types.")
    elif low > high:
        yield diagnose("bounds.reversed", at / names[0], f"{names[0]} is above {names[1]}.")
