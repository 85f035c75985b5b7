"""Row rules as masks: for each kind, which values of a column violate it. One file for each kind, and the table of
kinds.

NULL passes every rule but `notNull`. On columns that are not text, rules on text see the canonical text.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import UTC, datetime
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from executors.errors import Terminal
from executors.grammar.broken_text import without_broken
from executors.rules import (
    email,
    expression,
    field_type,
    json_schema,
    max_length,
    min_length,
    not_in_future,
    not_null,
    not_one_of,
    one_of,
    range,
    regex,
    url,
)
from executors.rules.base import Given, RowRuleHandler
from ir.diagnostics import shown
from ir.kinds import KindTable
from ir.nodes import Validate

_KINDS = (
    not_null,
    regex,
    range,
    min_length,
    max_length,
    field_type,
    one_of,
    not_one_of,
    expression,
    not_in_future,
    email,
    url,
    json_schema,
)
ROW_RULES: KindTable[RowRuleHandler] = KindTable("row rule", ((kind.HANDLER.kind, kind.HANDLER) for kind in _KINDS))


def require_rule_columns(validates: Iterable[Validate], columns: Sequence[str]) -> None:
    """Raise Terminal `column.unknown` for a rule on a column that the rows do not have."""
    for validate in validates:
        for rule in validate.row_level:
            if rule.field is not None and rule.field not in columns:
                raise Terminal(
                    "column.unknown",
                    f"The {rule.type} rule is on the column {rule.field!r}, which the rows do not have.",
                    hint=f"The columns here are {', '.join(columns) or 'none: the files may be empty'}.",
                    node=validate.id,
                )


def row_rule_mask(
    rule: Any, values: pa.Array, *, empty_is_null: bool = False, now: datetime | None = None
) -> pa.BooleanArray:
    """Return which values violate a rule of `ir.rules`, regardless of its `when`. The values of an `expression` are its
    results.

    `empty_is_null` means that the target stores '' as NULL; `now` is the run's clock. Text that is not valid UTF-8
    violates every rule.
    """
    if not len(values):
        return pa.array(np.empty(0, dtype=bool))
    given = Given(empty_is_null, now or datetime.now(UTC))
    readable, broken = without_broken(values)
    violations = ROW_RULES[rule.type].violations(rule, readable, given)
    return violations if broken is None else pc.or_(violations, broken)


def rule_message(rule: Any) -> str:
    """Return why a row violates a rule, without its values."""
    text = ROW_RULES[rule.type].message(rule)
    return f"{text} (when {shown(rule.when, 200)})" if rule.when else text
