"""`notNull`: NULL fails, and so does '' if the target would store it as NULL."""

from __future__ import annotations

import pyarrow as pa
import pyarrow.compute as pc

from executors.rules.base import Given, RowRuleHandler
from ir.rules import NotNull


def violations(rule: NotNull, values: pa.Array, given: Given) -> pa.BooleanArray:
    missing = pc.is_null(values)
    if given.empty_is_null and pa.types.is_string(values.type):
        return pc.or_(missing, pc.fill_null(pc.equal(pc.binary_length(values), 0), False))
    return missing


def message(rule: NotNull) -> str:
    return "must not be empty"


HANDLER = RowRuleHandler("notNull", violations, message)
