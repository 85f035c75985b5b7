"""Each row rule on text and on typed columns."""

from __future__ import annotations

import math
from datetime import UTC, date, datetime
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from executors.errors import Terminal
from executors.rules import ROW_RULES, require_rule_columns, row_rule_mask, rule_message
from ir import rules as ir_rules
from ir.nodes import Validate
from ir.rules import FieldType, MaxLength, NotNull, Range, Regex

AGES = pa.array([None, "-1", "151", "150", "abc", "NaN"])
EMAILS = pa.array([None, "", "a@b"])


def not_null() -> NotNull:
    return NotNull(type="notNull", field="x", on_fail="skip")


def regex(pattern: str) -> Regex:
    return Regex(type="regex", field="x", on_fail="skip", pattern=pattern)


def range_(low: Any = None, high: Any = None) -> Range:
    bounds = {name: bound for name, bound in (("min", low), ("max", high)) if bound is not None}
    return Range(type="range", field="x", on_fail="skip", **bounds)


def max_length(most: int) -> MaxLength:
    return MaxLength(type="maxLength", field="x", on_fail="skip", max=most)


def field_type(expected: Any) -> FieldType:
    return FieldType(type="fieldType", field="x", on_fail="skip", expected=expected)


def violating(rule: Any, values: pa.Array, **options: bool) -> list[Any]:
    """Return the values that violate a rule."""
    return values.filter(row_rule_mask(rule, values, **options)).to_pylist()  # type: ignore[no-any-return]


def test_every_rule_of_a_document_has_a_handler() -> None:
    assert set(ROW_RULES) == set(ir_rules.RULES)


def test_a_rule_on_a_column_that_is_not_there_is_refused() -> None:
    node = Validate(id="check", kind="validate", inputs=["src"], row_level=[not_null()])
    require_rule_columns([node], ["x", "y"])
    with pytest.raises(Terminal, match="'x'") as refused:
        require_rule_columns([node], ["X", "y"])
    assert (refused.value.code, refused.value.node) == ("column.unknown", "check")


@pytest.mark.parametrize(
    ("rule", "values", "expected"),
    [
        (range_(0, 150), AGES, ["-1", "151", "abc", "NaN"]),
        (field_type("integer"), AGES, ["abc", "NaN"]),
        (not_null(), AGES, [None]),
        (regex("^.+@.+$"), EMAILS, [""]),
        (max_length(2), EMAILS, ["a@b"]),
        (not_null(), EMAILS, [None]),
    ],
)
def test_only_not_null_rejects_null_and_empty_is_text(rule: Any, values: pa.Array, expected: list[Any]) -> None:
    assert violating(rule, values) == expected


def rule(kind: str, **fields: Any) -> Any:
    return ir_rules.RULES[kind].read({"type": kind, "field": "x", "onFail": "skip", **fields})


RULES = [
    not_null(),
    regex("a"),
    range_(0, 1),
    max_length(1),
    field_type("integer"),
    rule("minLength", min=2),
    rule("oneOf", values=["a", 1]),
    rule("notInFuture"),
    rule("email"),
    rule("url"),
    rule("jsonSchema", schema={}),
]


@pytest.mark.parametrize("rule", RULES)
@pytest.mark.parametrize("kind", [pa.string(), pa.int32(), pa.float64(), pa.decimal128(5, 2), pa.date32(), pa.bool_()])
def test_masks_have_no_nulls_and_null_passes_all_but_not_null(rule: Any, kind: pa.DataType) -> None:
    mask = row_rule_mask(rule, pa.nulls(3, kind))
    assert mask.to_pylist() == [rule.type == "notNull"] * 3


@pytest.mark.parametrize("rule", RULES)
def test_no_rows_no_violations(rule: Any) -> None:
    assert len(row_rule_mask(rule, pa.array([], pa.string()))) == 0


def test_empty_text_fails_not_null_where_it_would_be_stored_as_null() -> None:
    assert violating(not_null(), EMAILS, empty_is_null=True) == [None, ""]


def test_a_regex_searches_and_anchors_are_the_authors_business() -> None:
    values = pa.array(["xay", "b\na", "ä", "b"])
    assert violating(regex("a"), values) == ["ä", "b"]
    assert violating(regex("^a$"), values) == ["xay", "b\na", "ä", "b"]


def test_no_pattern_hangs() -> None:
    assert violating(regex("^(a|b)*$"), pa.array(["a" * 5000, "a" * 5000 + "c"])) == ["a" * 5000 + "c"]


def test_rules_on_text_see_the_one_text_of_typed_values() -> None:
    assert violating(regex("^2024-"), pa.array([date(2024, 1, 1), date(2023, 1, 1)])) == [date(2023, 1, 1)]
    assert violating(max_length(3), pa.array([999, -999])) == [-999]


def test_length_counts_code_points() -> None:
    assert violating(max_length(2), pa.array(["😀😀", "e\u0301x", "äöü"])) == ["e\u0301x", "äöü"]


# --- range ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("low", "high", "values", "expected"),
    [
        (0, None, pa.array(["0", " 0 ", "-0", "0.0", "-0.0000001", "1e-5"]), ["-0.0000001"]),
        (None, 0.1, pa.array(["0.1", "0.10000000000000000001", "0.09999999999999999999"]), ["0.10000000000000000001"]),
        ("9007199254740993", None, pa.array(["9007199254740992", "9007199254740993"]), ["9007199254740992"]),
        (0, None, pa.array(["Infinity", "-Infinity", "x", "1,5", ""]), ["-Infinity", "x", "1,5", ""]),
        (1.5, 2.5, pa.array([1, 2, 3]), [1, 3]),
        ("-1e30", "1e30", pa.array([2**63 - 1, -(2**63)]), []),
        ("1e30", None, pa.array([2**63 - 1]), [2**63 - 1]),
        (None, "9223372036854775806", pa.array([2**63 - 1, 2**63 - 2]), [2**63 - 1]),
        (0.1, 0.3, pa.array([0.1, 0.3, 0.31, math.inf]), [0.31, math.inf]),
        (
            "0.125",
            "1.005",
            pa.array([Decimal("0.12"), Decimal("0.13"), Decimal("1.00"), Decimal("1.01")]),
            [Decimal("0.12"), Decimal("1.01")],
        ),
        ("1e-5000", "1e5000", pa.array([0, 1]), [0]),
        ("-1e60", "1e60", pa.array([Decimal("1.00")]), []),
        (
            "2024-01-31",
            "2024-02-01",
            pa.array([date(2024, 1, 30), date(2024, 1, 31), date(2024, 2, 2)]),
            [date(2024, 1, 30), date(2024, 2, 2)],
        ),
        (None, "2024-01-31", pa.array([datetime(2024, 1, 31), datetime(2024, 1, 31, 1)]), [datetime(2024, 1, 31, 1)]),
        (
            "2024-01-31T10:00:00",
            None,
            pa.array([datetime(2024, 1, 31, 9), datetime(2024, 1, 31, 10)], pa.timestamp("us", "UTC")),
            [datetime(2024, 1, 31, 9, tzinfo=UTC)],
        ),
        (
            "2024-01-31",
            None,
            pa.array(["2024-01-30", "2024-01-31", "2024-01-30T23:00:00-02:00", "no date", "7"]),
            ["2024-01-30", "no date", "7"],
        ),
        ("2024-01-31", None, pa.array([7]), [7]),
        (0, 1, pa.array([True, False]), [True, False]),
    ],
)
def test_range_takes_both_bounds_in(low: Any, high: Any, values: pa.Array, expected: list[Any]) -> None:
    assert violating(range_(low, high), values) == expected


def test_not_a_number_fails_a_range() -> None:
    assert row_rule_mask(range_(0), pa.array([math.nan, 1.0])).to_pylist() == [True, False]


def test_a_zero_with_an_absurd_exponent_is_a_zero() -> None:
    zeros = ["0e99999999999999999999", "-0.0e-99999999999999999999"]
    assert violating(range_(0, 0), pa.array([*zeros, "1"])) == ["1"]
    assert violating(rule("oneOf", values=[0]), pa.array([*zeros, "1"])) == ["1"]


near = st.decimals(-1000, 1000, places=25) | st.decimals(-10, 10, places=1)


@given(st.lists(near, min_size=1, max_size=6), near, near)
def test_range_on_text_is_exact(numbers: list[Decimal], low: Decimal, high: Decimal) -> None:
    values = pa.array([f"{number:f}" for number in numbers])
    expected = [f"{number:f}" for number in numbers if not low <= number <= high]
    assert violating(range_(f"{low:f}", f"{high:f}"), values) == expected


@given(st.lists(st.integers(-(2**63), 2**63 - 1), min_size=1, max_size=6), near.map(lambda d: d * 10**16), near)
def test_range_on_integers_is_exact(numbers: list[int], low: Decimal, high: Decimal) -> None:
    expected = [number for number in numbers if not low <= number <= high]
    assert violating(range_(f"{low:f}", f"{high:f}"), pa.array(numbers, pa.int64())) == expected


@pytest.mark.parametrize(
    ("rule", "text"),
    [
        (range_(0, 6000), "must be between 0 and 6000"),
        (range_(0), "must be at least 0"),
        (range_(None, "2024-01-31"), "must be at most 2024-01-31"),
        (max_length(3), "is longer than 3 characters"),
        (regex("^a"), "does not match ^a"),
        (field_type("date"), "is not a date"),
        (not_null(), "must not be empty"),
        (rule("minLength", min=2), "is shorter than 2 characters"),
        (rule("oneOf", values=["a", 1]), "must be one of 'a', 1"),
        (rule("notOneOf", values=[0]), "must be none of 0"),
        (rule("expression", expression="x > 0"), "does not satisfy x > 0"),
        (rule("email", when="y = 'a'"), "is not an email address (when \"y = 'a'\")"),
    ],
)
def test_messages_contain_the_rule_and_no_value(rule: Any, text: str) -> None:
    assert rule_message(rule) == text


# --- fieldType -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("expected", "good", "bad"),
    [
        ("string", ["", "x"], []),
        ("integer", ["1", "3000000000"], ["1.0", "", "9223372036854775808"]),
        ("float", ["1", "NaN"], ["1,5"]),
        ("boolean", ["yes", "0"], ["2"]),
        ("date", ["2024-01-31"], ["31.01.2024"]),
        ("timestamp", ["2024-01-31 10:00"], ["2024-01-31", "2024-01-31T10:00Z"]),
        ("json", ["{}"], ["NaN"]),
        ("uuid", ["123e4567-e89b-12d3-a456-426614174000"], ["123"]),
    ],
)
def test_field_type_reads_by_the_grammar(expected: str, good: list[str], bad: list[str]) -> None:
    assert violating(field_type(expected), pa.array(good + bad, pa.string())) == bad


@pytest.mark.parametrize(
    ("expected", "values"),
    [
        ("integer", pa.array([1], pa.int32())),
        ("float", pa.array([math.nan])),
        ("boolean", pa.array([True])),
        ("date", pa.array([date(2024, 1, 31)])),
        ("timestamp", pa.array([datetime(2024, 1, 31)])),
        ("string", pa.array([1])),
    ],
)
def test_a_typed_column_has_its_own_type(expected: str, values: pa.Array) -> None:
    assert violating(field_type(expected), values) == []


def test_a_typed_column_of_another_type_is_read_as_its_text() -> None:
    assert violating(field_type("integer"), pa.array([1.0, 1.5])) == [1.5]


def test_a_rule_on_rows_without_any_column_points_to_the_files() -> None:
    validate = Validate(kind="validate", id="check", inputs=["rows"], row_level=[not_null()])
    with pytest.raises(Terminal) as stopped:
        require_rule_columns([validate], [])
    assert "the files may be empty" in stopped.value.hint
