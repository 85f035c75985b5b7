"""Watermarks of incremental loads: the column types with an order, and the lags that fit them."""

from __future__ import annotations

import re
from datetime import timedelta
from decimal import Decimal
from typing import Literal

from ir.durations import parse_duration
from ir.types import ColumnType

WatermarkFamily = Literal["number", "time", "text"]
Lag = timedelta | Decimal

LONGEST_LAG = timedelta(days=36525)
"""A hundred years. A longer lag could reach the earliest time that a database supports."""

_FAMILIES: dict[str, WatermarkFamily] = {
    "integer": "number",
    "bigint": "number",
    "decimal": "number",
    "date": "time",
    "timestamp": "time",
    "timestamptz": "time",
    "string": "text",
}
# Floats are excluded, because their texts differ from the original values.
_OTHER_NUMBERS = re.compile(r"(smallint|int2|numeric|decimal)(\(.*\))?")
_WHOLE = re.compile(r"integer|bigint|smallint|int2")


def watermark_family(kind: ColumnType) -> WatermarkFamily | None:
    """Return how watermarks of a column type are compared; None for types without an order."""
    if kind.kind == "pg":
        return "number" if _OTHER_NUMBERS.fullmatch(kind.pg_name) else None
    return _FAMILIES.get(kind.kind)


def is_whole(kind: ColumnType) -> bool:
    """Return whether a column type contains only whole numbers."""
    return _WHOLE.fullmatch(kind.pg_name if kind.kind == "pg" else kind.kind) is not None


def parse_lag(written: str | float) -> Lag:
    """Parse the lag of a document; raises ValueError for an invalid duration."""
    return parse_duration(written) if isinstance(written, str) else Decimal(str(written))


def lead_fault(lead: timedelta, kind: ColumnType) -> str | None:
    """Return the error in how far watermarks of a column type may be ahead of the database's clock, or None."""
    if lead > LONGEST_LAG:
        return "The lead is longer than 100 years."
    if watermark_family(kind) != "time":
        return f"The watermark is not a point in time ({kind}), so a lead has no effect."
    return None


def lag_fault(lag: Lag, kind: ColumnType) -> str | None:
    """Return the error in a lag for watermarks of a column type, or None."""
    match watermark_family(kind):
        case "number" if isinstance(lag, timedelta):
            return f'The watermark is a number ({kind}). Use a number as lag: 100, not "15m".'
        case "number" if is_whole(kind) and isinstance(lag, Decimal) and lag != lag.to_integral_value():
            return f"The watermark is a whole number ({kind}), but {lag} is not."
        case "time" if isinstance(lag, Decimal):
            return f'The watermark is a point in time ({kind}). Use a duration as lag: "15m", not {lag}.'
        case "text":
            return "The watermark is a text. A text cannot have a lag."
    return None
