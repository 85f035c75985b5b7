"""`oneOf`: texts are compared exactly, numbers by value, both in typed columns and in text."""

from __future__ import annotations

from decimal import Decimal

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from executors.grammar import canonical_text, exact_of, parse_column
from executors.rules.base import Given, RowRuleHandler, by_distinct
from ir.diagnostics import listed
from ir.rules import NotOneOf, OneOf
from ir.types import ColumnType


def violations(rule: OneOf, values: pa.Array, given: Given) -> pa.BooleanArray:
    return pc.and_(pc.is_valid(values), pc.invert(is_among(rule, values)))


def is_among(rule: OneOf | NotOneOf, values: pa.Array) -> pa.BooleanArray:
    """Return which values are in the rule's list; NULL is not."""
    text = canonical_text(values)
    texts = [value for value in rule.values if isinstance(value, str)]
    numbers = [Decimal(repr(value)) for value in rule.values if not isinstance(value, str)]
    found = pa.array(np.zeros(len(values), dtype=bool))
    if texts:
        found = pc.is_in(text, value_set=pa.array(texts))
    return pc.or_(found, _is_number_among(values, text, numbers)) if numbers else found


def _is_number_among(values: pa.Array, text: pa.Array, numbers: list[Decimal]) -> pa.BooleanArray:
    doubles = pa.array([float(number) for number in numbers], pa.float64())
    if pa.types.is_floating(values.type):
        return _is_in(values, doubles)
    read, _ = parse_column(text, ColumnType("float"))
    # Equal numbers have equal doubles; numbers with equal doubles are compared exactly.
    near = _is_in(read, doubles)
    return by_distinct(text, near, lambda value: exact_of(value.strip()) in numbers)


def _is_in(values: pa.Array, doubles: pa.Array) -> pa.BooleanArray:
    """Adding 0 turns -0 into the equal 0."""
    return pc.is_in(pc.add(pc.cast(values, pa.float64()), 0.0), value_set=pc.add(doubles, 0.0))


def message(rule: OneOf) -> str:
    return f"must be one of {words(rule)}"


def words(rule: OneOf | NotOneOf) -> str:
    return listed((repr(value) for value in rule.values), 10)


HANDLER = RowRuleHandler("oneOf", violations, message)
