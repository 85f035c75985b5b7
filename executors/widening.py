"""Which types of PostgreSQL columns can be widened to hold the values of other types exactly. Types are spelled as
`format_type` spells them."""

from __future__ import annotations

import re
from dataclasses import dataclass

from executors.types import postgres_type
from ir.types import ColumnType

_NUMERIC = re.compile(r"numeric\((\d+),(\d+)\)")
_WHOLE = ("smallint", "integer", "bigint")
_DIGITS = {"smallint": 5, "integer": 10, "bigint": 19}
_UNBOUNDED = "numeric"
_MOST_DIGITS = 1000
_SPELLINGS = {
    "timestamp": "timestamp without time zone",
    "timestamptz": "timestamp with time zone",
    "time": "time without time zone",
}

_OTHERS = {("real", "double precision"), ("date", "timestamp without time zone")}
"""Further pairs of a type and one that holds all of its values: a date becomes its midnight."""


def declared_as(kind: ColumnType) -> str:
    """Return the spelling of `format_type` for a type of Flow."""
    name = postgres_type(kind)
    return _SPELLINGS.get(name, name)


def widened(declared: str, arriving: str) -> str | None:
    """Return the type that a column needs to hold its own values and the arriving ones exactly. Return None if it holds
    them already, or if no widening is exact.

    Texts never widen: the length of the arriving texts is unknown.
    """
    wide = _common(declared, arriving)
    return wide if wide != declared else None


def holds(declared: str, arriving: str) -> bool:
    """Return whether a column holds every value of an arriving type exactly."""
    return declared == arriving or _common(declared, arriving) == declared


def keeps_text(before: str, after: str) -> bool:
    """Return whether each value has the same text in the wider type."""
    scales = [_scale(name) for name in (before, after)]
    return None not in scales and (scales[0] == scales[1] or after == _UNBOUNDED)


def rewrites(before: str, after: str) -> bool:
    """Return whether PostgreSQL rewrites all rows for this change. It does not where only a precision grows."""
    one, other = _NUMERIC.fullmatch(before), _NUMERIC.fullmatch(after)
    return not (one and (after == _UNBOUNDED or (other and one[2] == other[2])))


def _common(one: str, other: str) -> str | None:
    if one == other:
        return one
    if one in _WHOLE and other in _WHOLE:
        return max(one, other, key=_WHOLE.index)
    if (one, other) in _OTHERS:
        return other
    if (other, one) in _OTHERS:
        return one
    return _common_number(one, other)


@dataclass(frozen=True, slots=True)
class _Exact:
    """A type of exact numbers: the digits before and after the point."""

    digits: int
    scale: int


def _common_number(one: str, other: str) -> str | None:
    if _UNBOUNDED in (one, other):
        rest = other if one == _UNBOUNDED else one
        return _UNBOUNDED if _exact(rest) else None
    parts = [_exact(one), _exact(other)]
    known = [part for part in parts if part is not None]
    if len(known) < len(parts):
        return None
    digits, scale = max(part.digits for part in known), max(part.scale for part in known)
    return f"numeric({digits + scale},{scale})" if digits + scale <= _MOST_DIGITS else None


def _exact(name: str) -> _Exact | None:
    if name in _DIGITS:
        return _Exact(_DIGITS[name], 0)
    if match := _NUMERIC.fullmatch(name):
        precision, scale = int(match[1]), int(match[2])
        return _Exact(precision - scale, scale) if scale <= precision else None
    return None


def _scale(name: str) -> int | None:
    if name == _UNBOUNDED:
        return 0
    exact = _exact(name)
    return exact.scale if exact else None
