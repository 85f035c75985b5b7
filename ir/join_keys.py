"""The types of columns that a join can compare."""

from __future__ import annotations

from ir.types import ColumnType

MOST_DIGITS = 38
"""The maximum precision of decimals that Spark compares exactly."""

_DIGITS = {"integer": 10, "bigint": 19}
_AS_THEY_ARE = frozenset({"string", "boolean", "date", "timestamp", "timestamptz"})


def common_key_type(one: ColumnType, other: ColumnType) -> ColumnType | None:
    """Return the type in which values of both types are compared exactly; None if there is none.

    Floats are rounded, and values of types that Spark lacks may have several texts, so they cannot be compared.
    """
    if one.kind in _AS_THEY_ARE:
        return one if one == other else None
    digits = [_digits(one), _digits(other)]
    if None in digits:
        return None
    if one.kind in _DIGITS and other.kind in _DIGITS:
        return ColumnType("bigint")
    scale = max(one.scale, other.scale)
    precision = scale + max(count for count in digits if count is not None)
    return ColumnType("decimal", precision, scale) if precision <= MOST_DIGITS else None


def can_be_key(kind: ColumnType) -> bool:
    """Return whether values of the type can be compared with others of it."""
    return common_key_type(kind, kind) is not None


def _digits(kind: ColumnType) -> int | None:
    """Return the number of digits before the point; None for types that are not exact numbers."""
    return kind.precision - kind.scale if kind.kind == "decimal" else _DIGITS.get(kind.kind)
