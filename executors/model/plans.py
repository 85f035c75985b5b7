"""What the pass computes for each row: columns of staging, and rules."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from ir.types import ColumnType


@dataclass(frozen=True, slots=True)
class StageColumn:
    """A column of staging: the working column it comes from, the type it must reach, and whether '' becomes NULL.
    `is_native` says that values come in the very type of PostgreSQL that the target's column has."""

    name: str
    type: ColumnType
    nullable: bool = True
    max_length: int | None = None
    empty_as_null: bool = True
    is_native: bool = False


@dataclass(frozen=True, slots=True)
class RulePlan:
    """A row rule, bound to its validate node. `rule` is the typed rule of `ir.rules`.

    `applies` names the frame column that holds the result of the rule's `when`; `value` names the one that holds the
    result of an `expression` rule's condition.
    """

    node: str
    rule_id: str
    rule: Any
    applies: str | None = None
    value: str | None = None
