"""How PySpark interprets plain text among the arguments of a function: as the name of a column, or as text."""

from __future__ import annotations

from collections.abc import Mapping

from ir.spelling import words

TEXT_ARGUMENTS: Mapping[str, frozenset[int]] = {
    "array_contains": frozenset({1}),
    "array_join": frozenset({1, 2}),
    "array_position": frozenset({1}),
    "concat_ws": frozenset({0}),
    "date_format": frozenset({1}),
    "date_trunc": frozenset({0}),
    "decode": frozenset({1}),
    "element_at": frozenset({1}),
    "encode": frozenset({1}),
    "format_string": frozenset({0}),
    "from_unixtime": frozenset({1}),
    "from_utc_timestamp": frozenset({1}),
    "get_json_object": frozenset({1}),
    "instr": frozenset({1}),
    "locate": frozenset({0}),
    "lpad": frozenset({2}),
    "next_day": frozenset({1}),
    "regexp_extract": frozenset({1}),
    "regexp_replace": frozenset({1, 2}),
    "rpad": frozenset({2}),
    "split": frozenset({1}),
    "substring_index": frozenset({1}),
    "to_date": frozenset({1}),
    "to_timestamp": frozenset({1}),
    "to_utc_timestamp": frozenset({1}),
    "translate": frozenset({1, 2}),
    "trunc": frozenset({1}),
    "try_to_date": frozenset({1}),
}
"""The positions at which text is a value. Everywhere else it names a column. A test compares this with PySpark."""

SWAPPED = frozenset({"trim", "ltrim", "rtrim"})
"""Functions whose two arguments are in a different order in SQL and in PySpark."""

SQL_ONLY: frozenset[str] = words(
    "bigint binary boolean date decimal double float if int len luhn_check mod smallint space string timestamp tinyint"
)
"""Functions that PySpark lacks, so that the meaning of plain text is undefined."""
