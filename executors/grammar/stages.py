"""Parses text in stages: first with a vectorised cast, then the few remaining values one by one.

"Spaces around" means ASCII white space: space, tab, line feed, carriage return, vertical tab and form feed.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

Parsed = tuple[pa.Array, pa.BooleanArray]
Cast = Callable[[pa.Array], pa.Array]
Stage = tuple[str, Cast]
"""A RE2 pattern, and a cast that reads every text that matches it."""


def none_bad(length: int) -> pa.BooleanArray:
    return pa.array(np.zeros(length, dtype=bool))


def text_bytes(values: pa.Array) -> np.ndarray[Any, np.dtype[np.uint8]]:
    """Return the bytes of a string array's values, concatenated, without copying."""
    _, offsets, data = values.buffers()
    if data is None or len(values) == 0:
        return np.empty(0, dtype=np.uint8)
    ends = np.frombuffer(offsets, dtype=np.int32, count=len(values) + 1, offset=4 * values.offset)
    return np.frombuffer(data, dtype=np.uint8)[ends[0] : ends[-1]]


def holds_nul(values: pa.Array) -> bool:
    """Whether any value of a string array contains a NUL character."""
    data = text_bytes(values)
    return data.size > 0 and not data.min()


def has_letters(values: pa.Array) -> bool:
    """Whether any byte is above '9'. Without one, the texts contain no hex digits, exponents, words or non-ASCII
    digits."""
    data = text_bytes(values)
    return data.size > 0 and int(data.max()) > ord("9")


def longest(values: pa.Array) -> int:
    """Return the length of the longest value in bytes."""
    return pc.max(pc.binary_length(values)).as_py() or 0


def trim(values: pa.Array) -> pa.Array:
    return pc.ascii_trim_whitespace(values)


def matches(values: pa.Array, pattern: str) -> pa.BooleanArray:
    """True where a value matches; false for NULL."""
    return pc.fill_null(pc.match_substring_regex(values, pattern), False)


def read_in_stages(
    values: pa.Array, arrow: pa.DataType, stages: Sequence[Stage], one: Callable[[str], object | None]
) -> Parsed:
    """Cast the values that match the pattern of a stage; pass the others to `one`, which returns None for a bad
    value."""
    text = trim(values)
    typed = pa.nulls(len(text), arrow)
    left = pc.is_valid(text)
    for pattern, cast in stages:
        taken = pc.and_(left, matches(text, pattern))
        if taken.true_count:
            typed = pc.coalesce(cast(pc.if_else(taken, text, pa.scalar(None, pa.string()))), typed)
            left = pc.and_not(left, taken)
    if not left.true_count:
        return typed, none_bad(len(text))
    return _read_one_by_one(text, typed, left, one)


def _read_one_by_one(
    text: pa.Array, typed: pa.Array, left: pa.BooleanArray, one: Callable[[str], object | None]
) -> Parsed:
    rest = _array([one(value) for value in text.filter(left).to_pylist()], typed.type)
    typed = pc.replace_with_mask(typed, left, rest)
    return typed, pc.and_(left, pc.is_null(typed))


def _array(values: list[object | None], arrow: pa.DataType) -> pa.Array:
    if pa.types.is_decimal(arrow):
        # Arrow refuses a direct cast if the scale exceeds the precision.
        return pc.cast(pa.array(values, pa.decimal128(38, arrow.scale)), arrow)
    return pa.array(values, arrow)
