"""The canonical text of typed values, used by rules on text, by text columns and by quarantine.

The parser reads each of these forms back to the same value.
"""

from __future__ import annotations

from collections.abc import Callable
from decimal import Decimal

import pyarrow as pa
import pyarrow.compute as pc

_FLOAT_WORDS = {"nan": "NaN", "-nan": "NaN", "inf": "Infinity", "-inf": "-Infinity"}


def canonical_text(values: pa.Array) -> pa.Array:
    """Convert any array to an array of texts; NULL stays NULL.

    Floats have the shortest text that reads back as the same value, decimals have no exponent, timestamps look like
    `2024-01-31 10:00:00.5`, with a `Z` at the end if they have a zone (UTC), and binary is `\\x…`.
    """
    kind = values.type
    for is_kind, form in _FORMS:
        if is_kind(kind):
            return form(values)
    return pc.cast(values, pa.string())


def _float_text(values: pa.Array) -> pa.Array:
    text = pc.cast(pc.cast(values, pa.float64()), pa.string())
    index = pc.index_in(text, value_set=pa.array(list(_FLOAT_WORDS)))
    if index.null_count == len(index):
        return text
    return pc.coalesce(pa.array(list(_FLOAT_WORDS.values())).take(index), text)


def _decimal_text(values: pa.Array) -> pa.Array:
    text = pc.cast(values, pa.string())
    small = pc.fill_null(pc.match_substring(text, "E"), False)
    if not small.true_count:
        return text
    plain = [format(Decimal(value), "f") for value in text.filter(small).to_pylist()]
    return pc.replace_with_mask(text, small, pa.array(plain, pa.string()))


def _timestamp_text(values: pa.Array) -> pa.Array:
    if values.type.tz is not None:
        values = pc.cast(values, pa.timestamp(values.type.unit, "UTC"))
    return _without_trailing_zeros(pc.cast(values, pa.string()))


def _time_text(values: pa.Array) -> pa.Array:
    return _without_trailing_zeros(pc.cast(values, pa.string()))


def _without_trailing_zeros(text: pa.Array) -> pa.Array:
    short = pc.replace_substring_regex(text, r"(\.[0-9]*?)0+(Z?)$", r"\1\2")
    return pc.replace_substring_regex(short, r"\.(Z?)$", r"\1")


def _binary_text(values: pa.Array) -> pa.Array:
    return pa.array([None if v is None else "\\x" + v.hex() for v in values.to_pylist()], pa.string())


def _is_binary(kind: pa.DataType) -> bool:
    return bool(pa.types.is_binary(kind) or pa.types.is_large_binary(kind) or pa.types.is_fixed_size_binary(kind))


_FORMS: tuple[tuple[Callable[[pa.DataType], bool], Callable[[pa.Array], pa.Array]], ...] = (
    (pa.types.is_string, lambda values: values),
    (pa.types.is_floating, _float_text),
    (pa.types.is_decimal, _decimal_text),
    (pa.types.is_timestamp, _timestamp_text),
    (pa.types.is_time, _time_text),
    (_is_binary, _binary_text),
)
