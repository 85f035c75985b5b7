"""`expression`: Spark has computed the condition; NULL passes."""

from __future__ import annotations

import pyarrow as pa
import pyarrow.compute as pc

from executors.rules.base import Given, RowRuleHandler
from ir.rules import Expression


def violations(rule: Expression, values: pa.Array, given: Given) -> pa.BooleanArray:
    """`values` are the results of the condition."""
    return pc.invert(pc.fill_null(values, True))


def message(rule: Expression) -> str:
    return f"does not satisfy {rule.expression}"


HANDLER = RowRuleHandler("expression", violations, message)
