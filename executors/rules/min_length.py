"""`minLength`: at least so many code points; '' has none."""

from __future__ import annotations

import pyarrow as pa
import pyarrow.compute as pc

from executors.grammar import canonical_text
from executors.rules.base import Given, RowRuleHandler
from ir.rules import MinLength


def violations(rule: MinLength, values: pa.Array, given: Given) -> pa.BooleanArray:
    return pc.fill_null(pc.less(pc.utf8_length(canonical_text(values)), rule.min), False)


def message(rule: MinLength) -> str:
    return f"is shorter than {rule.min} characters"


HANDLER = RowRuleHandler("minLength", violations, message)
