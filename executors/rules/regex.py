"""`regex`: the RE2 pattern must be found somewhere in the text."""

from __future__ import annotations

import pyarrow as pa
import pyarrow.compute as pc

from executors.grammar import canonical_text
from ir.rules import Regex


def violations(rule: Regex, values: pa.Array, empty_is_null: bool) -> pa.BooleanArray:
    found = pc.match_substring_regex(canonical_text(values), rule.pattern)
    return pc.invert(pc.fill_null(found, True))


def message(rule: Regex) -> str:
    return f"does not match {rule.pattern}"
