"""Which types aggregates take and give."""

from __future__ import annotations

from ir.join_keys import MOST_DIGITS, can_be_key
from ir.types import ColumnType


def why_no_group_key(kind: ColumnType) -> str | None:
    """Return why rows cannot be grouped by values of the type; None if they can."""
    return None if can_be_key(kind) else f"{kind}, by which rows cannot be grouped"


def why_not_computable(function: str, kind: ColumnType) -> str | None:
    """Return why a function does not take values of the type; None if it does."""
    if function == "count" or (can_be_key(kind) and function not in ("sum", "avg")):
        return None
    if function in ("sum", "avg") and can_be_key(kind) and kind.kind in ("integer", "bigint", "decimal"):
        return None
    return f"{kind}, which {function} does not take"


def result_type(function: str, kind: ColumnType | None) -> ColumnType | None:
    """Return the type that a function gives for values of the type; None if it depends on a type that is unknown.

    A sum of decimals has 10 digits more; a mean has 4 more after the point and is rounded half up. No type has more
    than 38 digits: what does not fit fails the run.
    """
    if function in ("count", "countDistinct"):
        return ColumnType("bigint")
    if kind is None or function in ("min", "max"):
        return kind
    if function == "sum":
        return sum_type(kind)
    precision, scale = (kind.precision, kind.scale) if kind.kind == "decimal" else (20, 0)
    return ColumnType("decimal", min(precision + 4, MOST_DIGITS), min(scale + 4, MOST_DIGITS))


def sum_type(kind: ColumnType) -> ColumnType:
    """Return the type of a sum of exact numbers. The run fails if the sum exceeds it."""
    if kind.kind != "decimal":
        return ColumnType("bigint")
    return ColumnType("decimal", min(kind.precision + 10, MOST_DIGITS), kind.scale)
