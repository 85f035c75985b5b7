"""`oneOf` and `notOneOf`: text is compared exactly, numbers by value."""

from __future__ import annotations

import math
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from executors.rules import row_rule_mask
from ir.rules import NotOneOf, OneOf


def one_of(*values: Any) -> OneOf:
    return OneOf(type="oneOf", field="x", on_fail="skip", values=list(values))


def none_of(*values: Any) -> NotOneOf:
    return NotOneOf(type="notOneOf", field="x", on_fail="skip", values=list(values))


@pytest.mark.parametrize(
    ("listed", "values", "among"),
    [
        (["a", "ä", ""], pa.array(["a", "A", "a ", "ä", "a\u0308", "", None]), ["a", "ä", ""]),
        (["1"], pa.array(["1", "1.0", "01"]), ["1"]),
        ([1], pa.array(["1", "1.0", " 01 ", "1e0", "one", "1,0", ""]), ["1", "1.0", " 01 ", "1e0"]),
        ([0.1], pa.array(["0.1", "0.10000000000000000001", "1e-1"]), ["0.1", "1e-1"]),
        ([1, 2.5], pa.array([1, 2, 3]), [1]),
        (["1"], pa.array([1, 2]), [1]),
        ([2.5, 0.1], pa.array([Decimal("2.50"), Decimal("0.11")]), [Decimal("2.50")]),
        ([0, 0.1], pa.array([-0.0, 0.1, math.nan, math.inf]), [-0.0, 0.1]),
        ([0], pa.array(["-0", "-0.0", "0"]), ["-0", "-0.0", "0"]),
        (["NaN"], pa.array([math.nan, 1.0]), ["nan"]),
        (["true"], pa.array([True, False]), [True]),
        (["a", 1], pa.array(["a", "1.0", "b"]), ["a", "1.0"]),
    ],
)
def test_a_value_is_among_those_listed(listed: list[Any], values: pa.Array, among: list[Any]) -> None:
    found = values.filter(row_rule_mask(none_of(*listed), values)).to_pylist()
    assert [str(v) if v != v else v for v in found] == among
    others = row_rule_mask(one_of(*listed), values)
    assert others.true_count == len(values) - values.null_count - len(among)


near = st.decimals(-10, 10, places=20) | st.decimals(-10, 10, places=1)


@given(
    st.lists(near, min_size=1, max_size=6), st.lists(st.floats(-10, 10) | st.integers(-10, 10), min_size=1, max_size=4)
)
def test_numbers_in_text_are_compared_exactly(numbers: list[Decimal], listed: list[float]) -> None:
    exact = {Decimal(repr(value)) for value in listed}
    values = pa.array([f"{number:f}" for number in numbers])
    expected = [number not in exact for number in numbers]
    assert row_rule_mask(one_of(*listed), values).to_pylist() == expected
