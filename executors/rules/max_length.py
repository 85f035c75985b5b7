"""`maxLength`: at most so many code points."""

from __future__ import annotations

import pyarrow as pa
import pyarrow.compute as pc

from executors.grammar import canonical_text
from executors.rules.base import Given, RowRuleHandler
from ir.rules import MaxLength


def violations(rule: MaxLength, values: pa.Array, given: Given) -> pa.BooleanArray:
    return too_long(canonical_text(values), rule.max)


def too_long(text: pa.Array, most: int) -> pa.BooleanArray:
    return pc.fill_null(pc.greater(pc.utf8_length(text), most), False)


def message(rule: MaxLength) -> str:
    return f"is longer than {rule.max} characters"


HANDLER = RowRuleHandler("maxLength", violations, message)
