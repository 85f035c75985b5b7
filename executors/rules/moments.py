"""Converts dates and times to UTC for rules that compare them."""

from __future__ import annotations

import pyarrow as pa
import pyarrow.compute as pc

from executors.grammar import canonical_text, parse_column
from ir.types import ColumnType

_DATE, _TIMESTAMPTZ = ColumnType("date"), ColumnType("timestamptz")
NAIVE = pa.timestamp("us")


def moments_of(values: pa.Array) -> tuple[pa.Array, pa.BooleanArray]:
    """Return dates and timestamps, typed or in text, as UTC wall time (a date is its midnight), and a mask of values
    that are neither."""
    if pa.types.is_date(values.type) or pa.types.is_timestamp(values.type):
        return pc.cast(values, NAIVE, safe=False), pc.and_(pc.is_valid(values), False)
    text = canonical_text(values)
    days, bad = parse_column(text, _DATE)
    if not bad.true_count:
        return pc.cast(days, NAIVE), bad
    moments, bad = parse_column(pc.if_else(bad, text, pa.scalar(None, pa.string())), _TIMESTAMPTZ)
    return pc.coalesce(pc.cast(days, NAIVE), pc.cast(moments, NAIVE)), bad
