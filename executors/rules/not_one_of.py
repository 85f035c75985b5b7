"""`notOneOf`: compares like `oneOf`; NULL passes."""

from __future__ import annotations

import pyarrow as pa

from executors.rules.base import Given, RowRuleHandler
from executors.rules.one_of import is_among, words
from ir.rules import NotOneOf


def violations(rule: NotOneOf, values: pa.Array, given: Given) -> pa.BooleanArray:
    return is_among(rule, values)


def message(rule: NotOneOf) -> str:
    return f"must be none of {words(rule)}"


HANDLER = RowRuleHandler("notOneOf", violations, message)
