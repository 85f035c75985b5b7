"""`fieldType`: the text must parse as a type by the grammar. `integer` is any whole number of 64 bits."""

from __future__ import annotations

from collections.abc import Callable

import pyarrow as pa

from executors.grammar import canonical_text, parse_column
from executors.grammar.stages import none_bad
from executors.rules.base import Given, RowRuleHandler
from ir.rules import FieldType
from ir.types import ColumnType, value_of


def _never(kind: pa.DataType) -> bool:
    return False


def _is_plain_timestamp(kind: pa.DataType) -> bool:
    return bool(pa.types.is_timestamp(kind) and kind.tz is None)


_EXPECTED: dict[str, tuple[str, Callable[[pa.DataType], bool]]] = {
    "string": ("string", lambda kind: True),
    "integer": ("bigint", pa.types.is_integer),
    "float": ("float", pa.types.is_floating),
    "boolean": ("boolean", pa.types.is_boolean),
    "date": ("date", pa.types.is_date),
    "timestamp": ("timestamp", _is_plain_timestamp),
    "json": ("json", _never),
    "uuid": ("uuid", _never),
}
"""The grammar's type for each expected type, and which Arrow types always fit it."""


def violations(rule: FieldType, values: pa.Array, given: Given) -> pa.BooleanArray:
    kind, has_type = _EXPECTED[rule.expected]
    if has_type(values.type):
        return none_bad(len(values))
    return parse_column(canonical_text(values), ColumnType(kind))[1]


def message(rule: FieldType) -> str:
    return f"is not {value_of(rule.expected)}"


HANDLER = RowRuleHandler("fieldType", violations, message)
