"""`range`: within inclusive bounds. A value that is not a number (or not a date, if the bounds are dates) fails, and so
does NaN.

Bounds are exact numbers, dates or timestamps (UTC; a date is its midnight). Text is compared exactly, never only by its
nearest double; float columns are compared as doubles.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import date, datetime, time
from decimal import ROUND_CEILING, ROUND_FLOOR, Decimal, localcontext
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from executors.grammar import canonical_text, exact_of, parse_column
from executors.rules.base import Given, RowRuleHandler, by_distinct
from executors.rules.moments import NAIVE, moments_of
from ir.bounds import parse_bound
from ir.rules import Range
from ir.types import ColumnType

_FLOAT = ColumnType("float")
_DIGITS = 38
_FAR = Decimal("1e400")  # beyond the values of any column


def violations(rule: Range, values: pa.Array, given: Given) -> pa.BooleanArray:
    low = None if rule.min is None else parse_bound(rule.min)
    high = None if rule.max is None else parse_bound(rule.max)
    is_number = isinstance(low if low is not None else high, Decimal)
    compare = _number_comparison(values.type) if is_number else _moments_outside
    return compare(values, low, high)


def message(rule: Range) -> str:
    if rule.max is None:
        return f"must be at least {rule.min}"
    return f"must be at most {rule.max}" if rule.min is None else f"must be between {rule.min} and {rule.max}"


Comparison = Callable[[pa.Array, Any, Any], pa.BooleanArray]


def _number_comparison(kind: pa.DataType) -> Comparison:
    return next((compare for is_kind, compare in _COMPARISONS if is_kind(kind)), _text_outside)


def _either(values: pa.Array, *masks: pa.BooleanArray | None) -> pa.BooleanArray:
    """Return true where any mask is true; NULL counts as false."""
    found = pa.array(np.zeros(len(values), dtype=bool))
    for mask in masks:
        if mask is not None:
            found = pc.or_(found, pc.fill_null(mask, False))
    return found


def _integers_outside(values: pa.Array, low: Decimal | None, high: Decimal | None) -> pa.BooleanArray:
    if _is_huge(low, high):
        return _decimals_outside(pc.cast(values, pa.decimal128(19, 0)), low, high)
    return _either(
        values,
        None if low is None else pc.less(values, _rounded(low, 0, ROUND_CEILING)),
        None if high is None else pc.greater(values, _rounded(high, 0, ROUND_FLOOR)),
    )


def _is_huge(*bounds: Decimal | None) -> bool:
    return any(bound is not None and abs(bound) >= 1 << 62 for bound in bounds)


def _rounded(bound: Decimal, scale: int, rounding: str) -> int | Decimal:
    """Return the nearest number of that scale within the bound."""
    with localcontext(prec=2000):
        value = max(-_FAR, min(_FAR, bound)).quantize(Decimal(1).scaleb(-scale), rounding=rounding)
    return value if scale else int(value)


def _decimals_outside(values: pa.Array, low: Decimal | None, high: Decimal | None) -> pa.BooleanArray:
    """Compare at the column's own scale, with bounds limited to 38 digits."""
    scale = values.type.scale
    kind = pa.decimal128(_DIGITS, scale)

    def bound(value: Decimal, rounding: str) -> pa.Scalar:
        with localcontext(prec=2000):
            most = Decimal(10**_DIGITS - 1).scaleb(-scale)
            cut = max(-most, min(most, Decimal(_rounded(value, scale, rounding))))
        return pa.scalar(f"{cut:f}").cast(kind)

    return _either(
        values,
        None if low is None else pc.less(values, bound(low, ROUND_CEILING)),
        None if high is None else pc.greater(values, bound(high, ROUND_FLOOR)),
    )


def _floats_outside(values: pa.Array, low: Decimal | None, high: Decimal | None) -> pa.BooleanArray:
    return _either(
        values,
        pc.is_nan(values),
        None if low is None else pc.less(values, float(low)),
        None if high is None else pc.greater(values, float(high)),
    )


def _text_outside(values: pa.Array, low: Decimal | None, high: Decimal | None) -> pa.BooleanArray:
    text = canonical_text(values)
    numbers, bad = parse_column(text, _FLOAT)
    outside = _either(values, bad, _floats_outside(numbers, low, high))
    # Rounding is monotonic, so only texts whose double equals that of a bound need an exact comparison.
    for bound, is_outside in ((low, Decimal.__lt__), (high, Decimal.__gt__)):
        if bound is not None:
            tied = pc.fill_null(pc.equal(numbers, float(bound)), False)
            outside = pc.or_(outside, _exactly(text, tied, bound, is_outside))
    return outside


def _exactly(
    text: pa.Array, tied: pa.BooleanArray, bound: Decimal, is_outside: Callable[[Decimal, Decimal], bool]
) -> pa.BooleanArray:
    """Return the exact result where `tied`, false elsewhere."""
    return by_distinct(text, tied, lambda value: is_outside(exact_of(value.strip()), bound))


def _moments_outside(values: pa.Array, low: Any, high: Any) -> pa.BooleanArray:
    moments, bad = moments_of(values)
    return _either(
        values,
        bad,
        None if low is None else pc.less(moments, _moment(low)),
        None if high is None else pc.greater(moments, _moment(high)),
    )


def _moment(bound: date) -> pa.Scalar:
    moment = bound if isinstance(bound, datetime) else datetime.combine(bound, time())
    return pa.scalar(moment, NAIVE)


_COMPARISONS: tuple[tuple[Callable[[pa.DataType], bool], Comparison], ...] = (
    (pa.types.is_integer, _integers_outside),
    (pa.types.is_floating, _floats_outside),
    (pa.types.is_decimal, _decimals_outside),
)

HANDLER = RowRuleHandler("range", violations, message)
