"""Row rules as masks: for each kind, which values of a column violate it. One table, in step with `ir.rules`.

NULL passes every rule but `notNull`. On columns that are not text, rules on text see the canonical text.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from executors.errors import Terminal
from executors.rules import field_type, max_length, not_null, range, regex
from ir.kinds import KindTable
from ir.nodes import Validate

Violations = Callable[[Any, pa.Array, bool], pa.BooleanArray]


@dataclass(frozen=True, slots=True)
class RowRuleHandler:
    """`violations(rule, values, empty_is_null)` gives a mask without NULLs; `message(rule)` says what is wrong, without
    the value."""

    violations: Violations
    message: Callable[[Any], str]


_HANDLERS = (
    ("notNull", RowRuleHandler(not_null.violations, not_null.message)),
    ("regex", RowRuleHandler(regex.violations, regex.message)),
    ("range", RowRuleHandler(range.violations, range.message)),
    ("maxLength", RowRuleHandler(max_length.violations, max_length.message)),
    ("fieldType", RowRuleHandler(field_type.violations, field_type.message)),
)

ROW_RULES: KindTable[RowRuleHandler] = KindTable("row rule", _HANDLERS)


def require_rule_columns(validates: Iterable[Validate], columns: Sequence[str]) -> None:
    """Refuse a rule on a column that the rows do not have; raises Terminal `column.unknown`."""
    for validate in validates:
        for rule in validate.row_level:
            if rule.field not in columns:
                raise Terminal(
                    "column.unknown",
                    f"The {rule.type} rule is on the column {rule.field!r}, which the rows do not have.",
                    hint=f"The columns here are {', '.join(columns) or 'none: the files may be empty'}.",
                    node=validate.id,
                )


def row_rule_mask(rule: Any, values: pa.Array, *, empty_is_null: bool = False) -> pa.BooleanArray:
    """Which values violate a rule of `ir.rules`. `empty_is_null` says that the target stores '' as NULL."""
    if not len(values):
        return pa.array(np.empty(0, dtype=bool))
    return ROW_RULES[rule.type].violations(rule, values, empty_is_null)
