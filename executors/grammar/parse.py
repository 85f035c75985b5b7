"""From text to a column type."""

from __future__ import annotations

from collections.abc import Callable

import pyarrow as pa
import pyarrow.compute as pc

from executors.grammar import numbers, times, words
from executors.grammar.stages import Parsed
from ir.types import ColumnType

PARSERS: dict[str, Callable[[pa.Array, ColumnType], Parsed]] = {
    "string": words.keep_text,
    "integer": numbers.parse_integer,
    "bigint": numbers.parse_integer,
    "float": numbers.parse_float,
    "decimal": numbers.parse_decimal,
    "boolean": words.parse_boolean,
    "date": times.parse_date,
    "timestamp": times.parse_timestamp,
    "timestamptz": times.parse_timestamptz,
    "time": times.parse_time,
    "json": words.parse_json,
    "uuid": words.parse_uuid,
    "binary": words.parse_binary,
    "pg": words.keep_text,
}


def parse_column(values: pa.Array, to: ColumnType, format: str | None = None) -> Parsed:
    """Read an array of texts as a type.

    `format`, for date, timestamp and timestamptz, is a strptime template that replaces the ISO form; one that cannot be
    read raises Terminal. Values never raise.
    """
    text = values if pa.types.is_string(values.type) else pc.cast(values, pa.string())
    if format is not None and to.kind in times.FORMATTED:
        return times.parse_formatted(text, to, format)
    return PARSERS[to.kind](text, to)
