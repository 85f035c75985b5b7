"""The violations of a rule in a sample are the same as in a run."""

from __future__ import annotations

import pytest

from executors.suggestions import try_rule
from ir.rules import RULES

ROWS = [{"a": 1, "b": "x"}, {"a": None, "b": ""}, {"a": 30, "b": None}, {"a": "7.5", "b": "yy"}]


def rule(kind, **fields):
    return RULES[kind].model_validate({"type": kind, "onFail": "warn", **fields})


@pytest.mark.parametrize(
    ("kind", "fields", "hits"),
    [
        ("notNull", {"field": "a"}, (1,)),
        ("notNull", {"field": "b"}, (1, 2)),
        ("range", {"field": "a", "max": 7}, (2, 3)),
        ("maxLength", {"field": "b", "max": 1}, (3,)),
        ("regex", {"field": "b", "pattern": "^x$"}, (1, 3)),
        ("fieldType", {"field": "a", "expected": "integer"}, (3,)),
        ("oneOf", {"field": "a", "values": [1, 30]}, (3,)),
    ],
)
def test_hits_are_those_of_a_run(kind, fields, hits):
    trial = try_rule(rule(kind, **fields), ROWS)
    assert (trial.rows, trial.hits, trial.examples) == (4, len(hits), hits)


def test_an_empty_text_is_kept_apart_where_the_target_does():
    assert try_rule(rule("notNull", field="b"), ROWS, empty_is_null=False).examples == (2,)


@pytest.mark.parametrize(
    ("made", "why"),
    [
        (rule("expression", expression="a > 1"), "Spark expression"),
        (rule("expression", field="a", expression="a > 1"), "Spark expression"),
        (rule("notNull", field="a", when="b = 'x'"), "when"),
        (rule("notNull", field="z"), "no column 'z'"),
    ],
)
def test_what_cannot_be_tried_says_why(made, why):
    assert why in try_rule(made, ROWS).untried


def test_no_rows_hit_nothing():
    assert try_rule(rule("notNull", field="a"), []).hits == 0
