"""Compare the bounds of chunks, which are texts of the cursor's type."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from decimal import Decimal, InvalidOperation

_MIDNIGHT = re.compile(r"[ T]00:00(:00(\.0+)?)?$")


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


def hull(ranges: Iterable[tuple[str | None, str | None]]) -> tuple[str | None, str | None]:
    """Return the smallest range that contains all of these, of which there is at least one."""
    (lower, upper), *others = ranges
    for one, other in others:
        if lower is not None and (one is None or is_below(one, lower)):
            lower = one
        if upper is not None and (other is None or is_below(upper, other)):
            upper = other
    return lower, upper


def _number(text: str) -> Decimal | None:
    try:
        number = Decimal(text)
    except InvalidOperation:
        return None
    return number if number.is_finite() else None


def range_words(lower: str | None, upper: str | None, is_null: bool, partition: Mapping[str, str | None]) -> str:
    """Describe the rows of a chunk: `2024-01-01 to 2024-01-31`. Midnights are shown as dates."""
    if is_null:
        ends = "NULL"
    elif lower is None and upper is None:
        ends = "all rows"
    elif lower is None:
        ends = f"before {_short(upper)}"
    else:
        ends = f"from {_short(lower)}" if upper is None else f"{_short(lower)} to {_short(upper)}"
    return ", ".join([*("NULL" if value is None else value for value in partition.values()), ends])


def _short(text: str | None) -> str:
    return _MIDNIGHT.sub("", text or "")
