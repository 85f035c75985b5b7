"""The rules and checks that are suggested for a sample, and those that are not."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from executors.suggestions import profile_columns, propose, try_rule
from executors.suggestions.patterns import pattern_of
from ir.pointers import ROOT
from ir.rules import RULES


def rules(rows):
    """Return the suggestions, as (type, field) or (check, columns)."""
    return [(p.check or p.spec["type"], p.field) for p in propose(rows)]


def column(values, name="c"):
    return [{"n": i, name: value} for i, value in enumerate(values)]


def spec_of(rows, kind, field="c"):
    return next(p.spec for p in propose(rows) if p.spec.get("type") == kind and p.field == field)


def test_a_full_column_may_not_be_empty_and_one_with_gaps_may():
    assert ("notNull", "c") in rules(column(["x", "y"] * 50))
    assert ("notNull", "c") in rules(column(["x"] * 200 + [None]))
    assert ("notNull", "c") not in rules(column(["x"] * 50 + [None] * 10))
    assert ("notNull", "c") not in rules(column([""] * 30))


@pytest.mark.parametrize(
    ("values", "kind"),
    [
        ([str(n) for n in range(50)], "integer"),
        ([f"{n}.5" for n in range(50)], "float"),
        ([f"2024-01-{n % 28 + 1:02}" for n in range(50)], "date"),
        ([f"2024-01-01 10:00:{n:02}" for n in range(50)], "timestamp"),
        ([f"6f1c1f9e-0000-4000-8000-0000000000{n:02}" for n in range(50)], "uuid"),
    ],
)
def test_text_of_one_type_is_proposed_to_be_of_it(values, kind):
    assert spec_of(column(values), "fieldType")["expected"] == kind


def test_one_exception_in_a_hundred_is_reported_and_more_prevent_the_suggestion():
    rows = column([str(n) for n in range(300)] + ["n/a"])
    (proposal,) = [p for p in propose(rows) if p.spec.get("type") == "fieldType"]
    assert (proposal.evidence, proposal.hits) == ("300 of 301 values can be read as integer.", 1)
    assert proposal.misfits == ("n/a",)
    assert ("fieldType", "c") not in rules(column([str(n) for n in range(50)] + ["n/a"] * 5))


def test_a_column_of_another_type_than_text_is_proposed_no_type():
    rows = [{"at": f"2024-01-{n % 28 + 1:02}", "price": f"{n}.50"} for n in range(50)]
    proposed = [p.spec["type"] for p in propose(rows, {"at": "date", "price": "decimal(10,2)"}) if not p.check]
    assert "fieldType" not in proposed
    assert {"notNull", "range", "notInFuture"} <= set(proposed)


def test_numbers_that_come_as_such_need_no_type():
    assert ("fieldType", "n") not in rules(column(["x"] * 50))


@pytest.mark.parametrize(
    ("values", "least", "most"),
    [
        (range(17, 4984), 0, 10000),
        (range(-30, 300), -100, 1000),
        (range(0, 30), 0, 100),
        (range(-300, -30), -1000, 0),
    ],
)
def test_bounds_are_round_and_leave_room(values, least, most):
    spec = spec_of(column(list(values)), "range")
    assert (spec["min"], spec["max"]) == (least, most)


def test_few_values_again_and_again_are_a_list():
    assert spec_of(column(["red", "green", "blue"] * 30), "oneOf")["values"] == ["blue", "green", "red"]
    assert ("oneOf", "c") not in rules(column([f"word {n} of many" for n in range(50)]))


def test_a_value_that_occurs_once_is_an_exception_and_not_in_the_list():
    """It would be stored in the document, and could be the name of a person."""
    rows = column(["red", "green"] * 100 + ["Ann Smith"])
    (proposal,) = [p for p in propose(rows) if p.spec.get("type") == "oneOf"]
    assert (proposal.spec["values"], proposal.hits, proposal.quotes_values) == (["green", "red"], 1, True)
    assert proposal.evidence == "200 of 201 values are 2 different values."
    assert ("oneOf", "c") not in rules(column(["red", "green"] * 100 + ["Ann", "Bob", "Cy"]))


@pytest.mark.parametrize(
    ("texts", "pattern"),
    [
        (["AB-123", "XY-999"], "^[A-Z]{2}-[0-9]{3}$"),
        (["N1", "N12345"], "^N[0-9]{1,5}$"),
        (["a.1", "b.22"], r"^[a-z]\.[0-9]{1,2}$"),
        (["A1", "B1", "1A", "1B"], "^([0-9][A-Z]|[A-Z][0-9])$"),
        (["a b", "a", "1", "A"], None),
        (["ä1", "ö2"], None),
        (["x" * 41], None),
    ],
)
def test_a_shape_becomes_a_pattern(texts, pattern):
    assert pattern_of([(text, 1) for text in texts]) == pattern


def test_addresses_are_reported_from_other_shapes():
    assert ("email", "c") in rules(column([f"user{n}@example.com" for n in range(50)]))
    assert ("url", "c") in rules(column([f"https://example.com/{n}" for n in range(50)]))


def test_the_past_stays_the_past_and_the_future_is_no_reason():
    assert ("notInFuture", "c") in rules(column([f"2020-01-{n % 28 + 1:02}" for n in range(50)]))
    assert ("notInFuture", "c") not in rules(column([f"2999-01-{n % 28 + 1:02}" for n in range(50)]))


def test_keys_are_single_columns_else_pairs():
    assert ("duplicateKey", "n") in rules(column(["x"] * 50))
    pairs = [{"a": str(n // 10), "b": str(n % 10), "v": "x"} for n in range(100)]
    assert ("duplicateKey", "a, b") in rules(pairs)
    assert not [kind for kind, _ in rules([{"a": "x"} for _ in range(50)]) if kind == "duplicateKey"]


def test_a_column_that_nearly_tells_all_rows_apart_is_shown_with_the_values_that_repeat():
    rows = [{"c": n} for n in (*range(200), 7)]
    (proposal,) = [p for p in propose(rows) if p.check]
    assert (proposal.field, proposal.hits, proposal.misfits) == ("c", 2, ("7",))
    assert proposal.evidence == "200 different values in 201 rows: nearly a key."


def test_a_small_sample_says_nothing():
    assert propose(column(["x"] * 19)) == []
    assert propose([]) == []


def test_an_empty_column_and_an_empty_text_are_distinguished():
    (profile, _) = sorted(profile_columns(column([None, "", "x"])), key=lambda p: p.name)
    assert (profile.nulls, profile.empties, profile.distinct, profile.filled) == (1, 1, 1, 1)


values = st.one_of(st.none(), st.text(max_size=12), st.integers(), st.booleans(), st.dates().map(str))


@given(st.lists(st.fixed_dictionaries({"a": values, "b": values}), min_size=20, max_size=60))
def test_every_proposed_rule_can_stand_in_a_document_and_hits_next_to_nothing(rows):
    for proposal in propose(rows):
        if not proposal.check:
            parsed = RULES[proposal.spec["type"]].model_validate(proposal.spec)
            assert list(parsed.check(ROOT)) == []
            assert try_rule(parsed, rows).hits == proposal.hits <= len(rows) / 100
