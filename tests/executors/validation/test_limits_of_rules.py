"""The rows that a rule checks, and the violations that end a run."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest

from executors.accounting import merge_rules, planned_rules, stop_on_abort
from executors.errors import Terminal
from executors.model import RulePlan, StageColumn
from executors.validation import Tally, ValidationPlan, validate
from ir.rules import RULES, rule_id
from ir.types import STRING
from tests.executors.spark.paths import make_path


def rule(kind: str = "notNull", **fields: Any) -> Any:
    return RULES[kind].read({"type": kind, "field": "x", "onFail": "skip", **fields})


def evaluated(rules: list[tuple[Any, dict[str, str]]], values: list[Any], **columns: list[Any]) -> Any:
    """Return the tally of nodes with one rule each, for rows of one text column."""
    batch = pa.RecordBatch.from_pydict(
        {
            "_flow_file": pa.array([0] * len(values), pa.int32()),
            "_flow_record": pa.array(range(1, len(values) + 1), pa.int64()),
            "_flow_bad": pa.nulls(len(values), pa.string()),
            "_flow_raw": pa.nulls(len(values), pa.string()),
            "s0": pa.array(values, pa.string()),
            **{name: pa.array(flags, pa.bool_()) for name, flags in columns.items()},
        }
    )
    plans = tuple(RulePlan("check", rule_id(r), r, **computed) for r, computed in rules)
    plan = ValidationPlan(
        "run", "src", "load", {0: ("h", "a.csv")}, {"x": "s0"}, {"x": "s0"}, (StageColumn("x", STRING),), plans
    )
    tally = Tally()
    tally.add(validate(batch, plan))
    return tally


def count_of(tally: Any, rule: Any) -> Any:
    return tally.rules["check", rule_id(rule)]


def test_a_rule_says_nothing_of_rows_that_its_condition_is_not_true_for() -> None:
    only = rule(when="x > 0")
    tally = evaluated([(only, {"applies": "w"})], [None, None, None, "a"], w=[True, False, None, True])
    assert (count_of(tally, only).violations, count_of(tally, only).evaluated) == (1, 2)
    assert (tally.staged, tally.rejected) == (3, 1)


def test_a_computed_condition_that_is_null_passes() -> None:
    condition = RULES["expression"].read({"type": "expression", "expression": "x > 0", "onFail": "skip"})
    tally = evaluated([(condition, {"value": "c"})], ["a", "b", "c"], c=[True, False, None])
    assert (count_of(tally, condition).violations, count_of(tally, condition).field) == (1, None)


def test_rows_that_a_node_before_has_dropped_are_not_validated() -> None:
    first, second = rule(), rule("minLength", min=2)
    tally = evaluated([(first, {}), (second, {})], [None, "a", "ab"])
    assert (count_of(tally, second).violations, count_of(tally, second).evaluated) == (1, 3)


def stop(document: dict[str, Any], values: list[Any]) -> Terminal | None:
    """Return the result of a run with one rule."""
    path = make_path(rules=[{"field": "x", **document}])
    (made,) = path.validates[0].row_level
    tally = evaluated([(made, {})], values)
    counts = merge_rules(planned_rules(path), tuple(tally.rules.values()))
    try:
        stop_on_abort(path, counts, {0: "a.csv"})
    except Terminal as error:
        return error
    return None


ROWS = [None, "a", None, "b"]


@pytest.mark.parametrize(
    ("limit", "stops"),
    [
        ({"maxViolations": 2}, ""),
        ({"maxViolations": 1}, "more than 1"),
        ({"maxViolations": 0}, "more than 0"),
        ({"maxViolationPct": 50}, ""),
        ({"maxViolationPct": 49.9}, "more than 49.9 % of 4"),
        ({"maxViolationPct": 0}, "more than 0 % of 4"),
        ({"maxViolationPct": 50, "maxViolations": 1}, "more than 1"),
    ],
)
@pytest.mark.parametrize("on_fail", ["skip", "warn"])
def test_violations_beyond_a_limit_end_the_run(limit: dict[str, Any], stops: str, on_fail: str) -> None:
    error = stop({"type": "notNull", "onFail": on_fail, **limit}, ROWS)
    if not stops:
        assert error is None
        return
    assert error is not None
    assert (error.code, error.node) == ("rule.limit", "check")
    assert error.message == (
        f"Rule notNull on 'x' (must not be empty) failed on 2 rows, {stops} (a.csv record 1, 3). "
        "The target was not loaded."
    )


def test_without_rows_no_limit_is_passed() -> None:
    assert stop({"type": "notNull", "onFail": "skip", "maxViolationPct": 0}, []) is None


def test_an_abort_rule_stops_at_the_first_violation() -> None:
    error = stop({"type": "notNull", "onFail": "abort"}, ROWS)
    assert error is not None
    assert error.code == "rule.abort"
