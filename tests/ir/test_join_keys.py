"""The types that a join compares, and the type of the comparison."""

from __future__ import annotations

import pytest

from ir.join_keys import can_be_key, common_key_type
from ir.types import SIMPLE_TYPES, ColumnType

EXACT = {"string", "integer", "bigint", "boolean", "date", "timestamp", "timestamptz"}


@pytest.mark.parametrize("name", SIMPLE_TYPES)
def test_types_with_one_form_for_each_value_are_keys(name):
    assert can_be_key(ColumnType(name)) == (name in EXACT)


@pytest.mark.parametrize(
    ("one", "other", "common"),
    [
        ("integer", "bigint", "bigint"),
        ("integer", "integer", "bigint"),
        ("bigint", "decimal(12,2)", "decimal(21,2)"),
        ("decimal(38,0)", "decimal(20,10)", None),
        ("decimal(10,4)", "decimal(12,2)", "decimal(14,4)"),
        ("string", "integer", None),
        ("date", "timestamp", None),
        ("timestamp", "timestamptz", None),
    ],
)
def test_two_types_are_compared_in_one_that_holds_both(one, other, common):
    for left, right in ((one, other), (other, one)):
        found = common_key_type(ColumnType.parse(left), ColumnType.parse(right))
        assert (found and str(found)) == common
