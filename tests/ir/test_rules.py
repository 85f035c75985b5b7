"""IDs of rules, and bounds."""

from __future__ import annotations

from datetime import date, datetime
from decimal import Decimal

import pytest

from ir import parsePipelineIR
from ir.bounds import parse_bound
from ir.nodes import Validate
from ir.rules import MaxLength, NotNull, Range, rule_id
from tests.ir.cases import document


def rules_of(made) -> list[str]:
    (validate,) = [node for node in parsePipelineIR(made).pipeline.nodes if isinstance(node, Validate)]
    return [rule_id(rule) for rule in validate.row_level]


def test_a_rule_keeps_its_own_id():
    assert rule_id(NotNull(type="notNull", field="a", on_fail="skip", id="my-rule")) == "my-rule"


def test_a_rule_without_an_id_keeps_its_hash_across_edits_elsewhere():
    made = document("orders")
    (before,) = rules_of(made)
    made["nodes"][2]["rowLevel"].insert(0, {"onFail": "warn", "type": "maxLength", "field": "customer", "max": 5})
    made["nodes"][2]["quarantine"]["table"] = "dlq.other"
    made["nodes"][2]["id"] = "check2"
    made["nodes"][3]["inputs"] = ["check2"]
    other, after = rules_of(made)
    assert after == before != other


def test_the_order_of_its_keys_does_not_change_a_rules_hash():
    made = document("orders")
    (before,) = rules_of(made)
    made["nodes"][2]["rowLevel"][0] = dict(reversed(made["nodes"][2]["rowLevel"][0].items()))
    assert rules_of(made) == [before]


def test_each_part_of_a_rule_counts_in_its_hash():
    rules = [
        NotNull(type="notNull", field="a", on_fail="skip"),
        NotNull(type="notNull", field="b", on_fail="skip"),
        NotNull(type="notNull", field="a", on_fail="warn"),
        MaxLength(type="maxLength", field="a", on_fail="skip", max=1),
        MaxLength(type="maxLength", field="a", on_fail="skip", max=2),
        Range(type="range", field="a", on_fail="skip", min=0),
        Range(type="range", field="a", on_fail="skip", max=0),
    ]
    assert len({rule_id(rule) for rule in rules}) == len(rules)


@pytest.mark.parametrize(
    ("text", "bound"),
    [
        (1, Decimal(1)),
        (0.1, Decimal("0.1")),
        ("9007199254740993", Decimal(9007199254740993)),
        (" -1.5e3 ", Decimal(-1500)),
        ("2025-01-31", date(2025, 1, 31)),
        ("2025-01-31T08:00:00", datetime(2025, 1, 31, 8)),
        ("2025-01-31 08:00", datetime(2025, 1, 31, 8)),
    ],
)
def test_a_bound_is_a_number_a_date_or_a_timestamp(text, bound):
    assert parse_bound(text) == bound


@pytest.mark.parametrize(
    "text",
    [
        "",
        "x",
        "1_000",
        "NaN",
        "Infinity",
        "0x1F",
        "١",
        "2025-02-30",
        "20250131T08:00",
        "2025-01-31T08:00Z",
        "2025-01-31T08:00+01:00",
        "2025-W05-5",
        "08:00",
        "1e999999999",
        "-1e-999999999",
    ],
)
def test_anything_else_is_no_bound(text):
    with pytest.raises(ValueError, match=r"is no|out of range"):
        parse_bound(text)
