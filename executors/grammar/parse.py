"""Parses text to a column type."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import pyarrow as pa
import pyarrow.compute as pc

from executors.grammar import numbers, times, words
from executors.grammar.separators import with_points
from executors.grammar.stages import Parsed
from ir.nodes import SourceColumn
from ir.ops import CastTo
from ir.types import ColumnType
from ir.written import formats_of

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


@dataclass(frozen=True, slots=True)
class Written:
    """The form of values in text, for columns with settings of their own. `formats`, for date, timestamp and
    timestamptz, are strptime templates that replace the ISO form."""

    formats: tuple[str, ...] = ()
    decimal: str = "."
    group: str | None = None

    @classmethod
    def of(cls, column: SourceColumn | CastTo) -> Written:
        return cls(formats_of(column.format), column.decimal_separator, column.group_separator)

    def __str__(self) -> str:
        """Return the end of a message after "written"; empty for the usual form."""
        if self.formats:
            return "as " + " or ".join(self.formats)
        parts = [f"{self.decimal!r} before the fraction"] if self.decimal != "." else []
        parts += [f"{self.group!r} between groups of three digits"] if self.group is not None else []
        return "with " + " and ".join(parts) if parts else ""


PLAIN = Written()


def parse_column(values: pa.Array, to: ColumnType, written: Written = PLAIN) -> Parsed:
    """Parse an array of texts as a type. Raises Terminal for a format that cannot be read, never because of the
    values."""
    text = values if pa.types.is_string(values.type) else pc.cast(values, pa.string())
    if written == PLAIN:
        return PARSERS[to.kind](text, to)
    if written.formats and to.kind in times.FORMATTED:
        return times.parse_formatted(text, to, written.formats)
    if to.kind in numbers.SEPARATED:
        pointed, wrong = with_points(text, written.decimal, written.group)
        typed, bad = PARSERS[to.kind](pointed, to)
        return typed, pc.or_(bad, wrong)
    return PARSERS[to.kind](text, to)
