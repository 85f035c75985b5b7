"""The names of rules for people: the id, else type and column."""

from __future__ import annotations

import pytest

from flowapp.runs.rule_names import rule_name


@pytest.mark.parametrize(
    ("rule", "kind", "field", "name"),
    [
        ("r-0123456789ab", "range", "umsatz", "range on umsatz"),
        ("type:Umsatz €", "type", "Umsatz €", "type on Umsatz €"),
        ("expression", "expression", None, "expression"),
        ("positive", "range", "umsatz", "positive"),
    ],
)
def test_a_rule_without_an_id_of_its_own_is_named_by_type_and_column(rule, kind, field, name):
    assert rule_name(rule, kind, field) == name
