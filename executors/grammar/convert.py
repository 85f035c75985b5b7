"""Converts typed Arrow values to a column type, without silent loss.

Types without a conversion of their own are converted through their canonical text and the grammar.
"""

from __future__ import annotations

from collections.abc import Callable

import pyarrow as pa
import pyarrow.compute as pc

from executors.grammar.broken_text import without_broken
from executors.grammar.canonical import canonical_text
from executors.grammar.parse import PLAIN, Written, parse_column
from executors.grammar.stages import Parsed, none_bad
from executors.types import wire_type
from ir.types import ColumnType


def convert_column(values: pa.Array, to: ColumnType, written: Written = PLAIN) -> Parsed:
    """Convert an array of any type to a column type. `written` applies to text only.

    Bad values are texts that are not UTF-8, integers out of range, floats with a fraction for integer types, decimals
    that do not fit exactly, and timestamps with a time of day for dates. A float gets the nearest value; a timestamptz
    becomes its UTC time.
    """
    if pa.types.is_null(values.type):
        return pa.nulls(len(values), wire_type(to).arrow), none_bad(len(values))
    family = _family(values.type)
    if family == "text":
        readable, broken = without_broken(values)
        typed, bad = parse_column(readable, to, written)
        return typed, bad if broken is None else pc.or_(bad, broken)
    direct = _DIRECT.get((family, to.kind))
    if direct is None:
        return parse_column(canonical_text(values), to)
    return direct(values, to)


def _family(kind: pa.DataType) -> str:
    return next((name for name, is_kind in _FAMILIES if is_kind(kind)), "other")


_FAMILIES: tuple[tuple[str, Callable[[pa.DataType], bool]], ...] = (
    ("text", lambda kind: pa.types.is_string(kind) or pa.types.is_large_string(kind)),
    ("integer", pa.types.is_integer),
    ("float", pa.types.is_floating),
    ("decimal", pa.types.is_decimal),
    ("boolean", pa.types.is_boolean),
    ("date", pa.types.is_date),
    ("timestamp", pa.types.is_timestamp),
    ("time", pa.types.is_time),
    ("binary", pa.types.is_binary),
)


def _try_cast(values: pa.Array, to: ColumnType) -> pa.Array | None:
    """Return the cast values, or None if one of them does not fit."""
    arrow = wire_type(to).arrow
    if values.type == arrow:
        return values
    try:
        return pc.cast(values, arrow)
    except pa.ArrowInvalid:
        return None


def _whole(values: pa.Array, to: ColumnType) -> Parsed:
    """Convert numbers to integer types: in range and without a fraction."""
    typed = _try_cast(values, to)
    if typed is not None:
        return typed, none_bad(len(values))
    arrow = wire_type(to).arrow
    limit = 1 << (arrow.bit_width - 1)
    if pa.types.is_floating(values.type):
        fits = pc.and_(pc.greater_equal(values, float(-limit)), pc.less(values, float(limit)))
        fits = pc.and_(fits, pc.equal(pc.trunc(values), values))
    else:
        fits = pc.and_(pc.greater_equal(values, -limit), pc.less_equal(values, limit - 1))
    return _cast_fitting(values, pc.fill_null(fits, False), arrow)


def _cast_fitting(values: pa.Array, fits: pa.BooleanArray, arrow: pa.DataType) -> Parsed:
    fitting = pc.if_else(fits, values, pa.scalar(None, values.type))
    return pc.cast(fitting, arrow), pc.and_not(pc.is_valid(values), fits)


def _nearest(values: pa.Array, to: ColumnType) -> Parsed:
    """Convert numbers to the nearest double."""
    return pc.cast(values, pa.float64(), safe=False), none_bad(len(values))


def _fitting_decimal(values: pa.Array, to: ColumnType) -> Parsed:
    """Convert integers and decimals to a decimal: exactly, or through text to find those that do not fit."""
    if wire_type(to).as_text:
        return parse_column(canonical_text(values), to)
    wide = pc.cast(values, pa.decimal128(19, 0)) if pa.types.is_integer(values.type) else values
    typed = _try_cast(wide, to)
    if typed is None:
        return parse_column(canonical_text(wide), to)
    return typed, none_bad(len(values))


def _whole_decimal(values: pa.Array, to: ColumnType) -> Parsed:
    """Convert decimals to integer types; a fraction of zeros is allowed."""
    return parse_column(pc.replace_substring_regex(canonical_text(values), r"\.0*$", ""), to)


def _same(values: pa.Array, to: ColumnType) -> Parsed:
    return pc.cast(values, wire_type(to).arrow), none_bad(len(values))


def _midnight(values: pa.Array, to: ColumnType) -> Parsed:
    """Convert timestamps to dates: only those at midnight (in UTC if they have a zone)."""
    if values.type.tz is not None:
        values = pc.cast(values, pa.timestamp(values.type.unit, "UTC"))
    days = pc.cast(values, pa.date32(), safe=False)
    fits = pc.fill_null(pc.equal(pc.cast(days, values.type), values), False)
    return pc.if_else(fits, days, pa.scalar(None, pa.date32())), pc.and_not(pc.is_valid(values), fits)


def _moment(values: pa.Array, to: ColumnType) -> Parsed:
    """Convert dates and timestamps to timestamps in microseconds. More precise ones, and those out of range, are
    bad."""
    if pa.types.is_timestamp(values.type) and values.type.tz is not None:
        values = pc.cast(values, pa.timestamp(values.type.unit, "UTC"))
    typed = _try_cast(values, to)
    if typed is not None:
        return typed, none_bad(len(values))
    loose = pc.cast(values, wire_type(to).arrow, safe=False)
    fits = pc.fill_null(pc.equal(pc.cast(loose, values.type, safe=False), values), False)
    return pc.if_else(fits, loose, pa.scalar(None, loose.type)), pc.and_not(pc.is_valid(values), fits)


_DIRECT: dict[tuple[str, str], Callable[[pa.Array, ColumnType], Parsed]] = {
    ("integer", "integer"): _whole,
    ("integer", "bigint"): _whole,
    ("integer", "float"): _nearest,
    ("integer", "decimal"): _fitting_decimal,
    ("float", "integer"): _whole,
    ("float", "bigint"): _whole,
    ("float", "float"): _nearest,
    ("decimal", "integer"): _whole_decimal,
    ("decimal", "bigint"): _whole_decimal,
    ("decimal", "float"): _nearest,
    ("decimal", "decimal"): _fitting_decimal,
    ("boolean", "boolean"): _same,
    ("date", "date"): _same,
    ("date", "timestamp"): _moment,
    ("date", "timestamptz"): _moment,
    ("timestamp", "date"): _midnight,
    ("timestamp", "timestamp"): _moment,
    ("timestamp", "timestamptz"): _moment,
    ("time", "time"): _moment,
    ("binary", "binary"): _same,
}
