"""Compare the bounds of chunks, which are texts of the cursor's type."""

from __future__ import annotations

from decimal import Decimal, InvalidOperation


def overlaps(lower: str | None, upper: str | None, other_lower: str | None, other_upper: str | None) -> bool:
    """Return whether two half-open ranges have a part in common. None is an open end."""
    return is_below(lower, other_upper) and is_below(other_lower, upper)


def is_below(lower: str | None, upper: str | None) -> bool:
    """Return whether the range from `lower` to `upper` is not empty."""
    if lower is None or upper is None:
        return True
    numbers = _number(lower), _number(upper)
    if numbers[0] is not None and numbers[1] is not None:
        return numbers[0] < numbers[1]
    return lower < upper


def _number(text: str) -> Decimal | None:
    try:
        number = Decimal(text)
    except InvalidOperation:
        return None
    return number if number.is_finite() else None
