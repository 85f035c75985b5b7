"""The input of row rules beside a column's values, and the interface of a kind of rule."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc


@dataclass(frozen=True, slots=True)
class Given:
    """`empty_is_null` means that the target stores '' as NULL; `now` is the run's clock."""

    empty_is_null: bool
    now: datetime


@dataclass(frozen=True, slots=True)
class RowRuleHandler:
    """`violations(rule, values, given)` returns a mask without NULLs; `message(rule)` describes the violation without
    the value."""

    kind: str
    violations: Callable[[Any, pa.Array, Given], pa.BooleanArray]
    message: Callable[[Any], str]


def by_distinct(text: pa.Array, where: pa.BooleanArray, answer: Callable[[str], bool]) -> pa.BooleanArray:
    """Return the results of `answer` where `where` is true, false elsewhere. Each distinct text is evaluated once."""
    if not where.true_count:
        return where
    coded = text.filter(where).dictionary_encode()
    answers = pa.array([answer(value) for value in coded.dictionary.to_pylist()], pa.bool_())
    return pc.replace_with_mask(where, where, answers.take(coded.indices))


def not_found(text: pa.Array, pattern: str) -> pa.BooleanArray:
    """Return where an RE2 pattern does not match; NULL passes."""
    return pc.invert(pc.fill_null(pc.match_substring_regex(text, pattern), True))
