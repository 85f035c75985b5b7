"""`regex`: the RE2 pattern must be found somewhere in the text."""

from __future__ import annotations

import pyarrow as pa

from executors.grammar import canonical_text
from executors.rules.base import Given, RowRuleHandler, not_found
from ir.rules import Regex


def violations(rule: Regex, values: pa.Array, given: Given) -> pa.BooleanArray:
    return not_found(canonical_text(values), rule.pattern)


def message(rule: Regex) -> str:
    return f"does not match {rule.pattern}"


HANDLER = RowRuleHandler("regex", violations, message)
