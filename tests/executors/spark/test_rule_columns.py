"""Rules that Spark evaluates: `expression`, and `when` of any rule, and the rows for which they are evaluated."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from executors.errors import Terminal
from executors.model import Connection
from executors.spark.session import RunSession
from ir.nodes import Validate
from ir.pipeline import Path as DocumentPath
from tests.executors.spark.passes import stage
from tests.executors.spark.paths import make_path

pytestmark = [pytest.mark.spark, pytest.mark.postgres]

TYPED = [{"name": "a", "type": "integer"}, {"name": "b", "type": "integer"}]


def expression(text: str, on_fail: str = "skip", **more: Any) -> dict[str, Any]:
    return {"type": "expression", "expression": text, "onFail": on_fail, **more}


@pytest.fixture
def csv(tmp_path: Path) -> Path:
    file = tmp_path / "rows.csv"
    file.write_text("a,b,c\n1,1,x\n4,2,y\n3,0,z\n,1,w\nno,1,v\n")
    return file


def test_rows_for_which_a_condition_is_false_violate_it(run_session: RunSession, warehouse: Connection, csv: Path):
    path = make_path(
        columns=TYPED, rules=[expression("a > b"), expression("c <> 'z'", "warn", field="c")], onTypeMismatch="skip"
    )
    staged = stage(run_session, warehouse, path, [csv])
    assert staged.violations() == {"check/r0": 1, "check/r1": 1, "orders/type:a": 1}
    assert staged.rows == [(4, 2, "y"), (3, 0, "z"), (None, 1, "w")]
    assert [(r["rule"], r["record"]) for r in staged.rejects] == [("r0", 1), ("r1", 3), ("type:a", 5)]


def test_a_condition_is_not_evaluated_for_rows_without_the_rule(
    run_session: RunSession, warehouse: Connection, csv: Path
):
    """`3 / 0` would end the run."""
    path = make_path(columns=TYPED, rules=[expression("a / b >= 2", when="b <> 0")], onTypeMismatch="skip")
    staged = stage(run_session, warehouse, path, [csv])
    assert staged.violations() == {"check/r0": 1, "orders/type:a": 1}
    (count,) = [rule for task in staged.result.tasks for rule in task.rules if rule.rule_id == "r0"]
    assert count.evaluated == 3


def test_any_rule_takes_a_condition(run_session: RunSession, warehouse: Connection, csv: Path):
    rules = [
        {"type": "notNull", "field": "a", "onFail": "skip", "when": "c = 'w'"},
        {"type": "range", "field": "b", "min": 1, "onFail": "warn", "when": "c = 'x'"},
        {"type": "oneOf", "field": "c", "values": ["x"], "onFail": "skip", "when": "a = 4 AND NULL"},
    ]
    staged = stage(run_session, warehouse, make_path(columns=TYPED, rules=rules, onTypeMismatch="null"), [csv])
    assert staged.violations() == {"check/r0": 1, "check/r1": 0, "check/r2": 0, "orders/type:a": 1}
    assert [row[2] for row in staged.rows] == ["x", "y", "z", "v"]


def test_rules_see_what_the_ops_have_made_and_not_what_they_took_away(
    run_session: RunSession, warehouse: Connection, csv: Path
):
    ops = [
        {"op": "derive", "columns": {"d": "a * 10"}},
        {"op": "filter", "where": "b > 0"},
        {"op": "trim", "columns": ["c"]},
        {"op": "deduplicate", "keys": ["b"]},
        {"op": "drop", "columns": ["a"]},
    ]
    rules = [
        expression("d / b > 15"),
        {"type": "maxLength", "field": "c", "max": 0, "onFail": "warn", "when": "d = 40"},
    ]
    path = make_path(*ops, columns=TYPED, rules=rules, onTypeMismatch="null")
    staged = stage(run_session, warehouse, path, [csv])
    assert staged.violations() == {"check/r0": 0, "check/r1": 1, "orders/type:a": 1}
    assert sorted(staged.rows, key=str) == [(1, "v", None), (2, "y", 40)]


@pytest.mark.parametrize(
    ("rule", "code", "says"),
    [
        (expression("a + b"), "rule.not_boolean", r"expression \(rule 1\): 'a \+ b' returns int"),
        (expression("a > 0", when="c"), "rule.not_boolean", "'c' returns string"),
        (expression("nothing > 0"), "column.unknown", "no column 'nothing'"),
        (expression("a > array(1)"), "expression.invalid", "expression"),
    ],
)
def test_what_is_no_condition_is_refused_by_the_node_and_rule(
    run_session: RunSession, warehouse: Connection, csv: Path, rule: dict[str, Any], code: str, says: str
):
    with pytest.raises(Terminal, match=says) as stopped:
        stage(run_session, warehouse, make_path(columns=TYPED, rules=[rule]), [csv])
    assert (stopped.value.code, stopped.value.node) == (code, "check")


def test_an_error_of_a_condition_ends_the_run_by_name(run_session: RunSession, warehouse: Connection, csv: Path):
    with pytest.raises(Terminal, match="a / b") as stopped:
        stage(
            run_session,
            warehouse,
            make_path(columns=TYPED, rules=[expression("a / b > 0")], onTypeMismatch="skip"),
            [csv],
        )
    assert (stopped.value.code, stopped.value.node) == ("expression.failed", "check")


def and_then(path: DocumentPath, *rules: dict[str, Any]) -> DocumentPath:
    """Return the path with another validate node, `later`, after the others."""
    more = {"id": "later", "kind": "validate", "inputs": ["check"], "rowLevel": list(rules)}
    return DocumentPath(path.source, path.transforms, (*path.validates, Validate.model_validate(more)), path.target)


@pytest.mark.parametrize(
    "ops",
    [(), ({"op": "deduplicate", "keys": ["c"]},), ({"op": "filter", "where": "a IS NULL OR a <> 4"},)],
    ids=["plain", "deduplicated", "filtered"],
)
@pytest.mark.parametrize(
    "first", [{"type": "range", "field": "b", "min": 1, "onFail": "skip"}, expression("b > 0")], ids=["arrow", "spark"]
)
def test_expressions_are_not_evaluated_for_rows_that_an_earlier_node_rejected(
    run_session: RunSession, warehouse: Connection, csv: Path, ops: tuple[dict[str, Any], ...], first: dict[str, Any]
):
    """`3 / 0` would end the run, in the condition as in a `when`."""
    path = make_path(*ops, columns=TYPED, rules=[first], onTypeMismatch="skip")
    path = and_then(
        path,
        expression("a / b >= 2"),
        {"type": "oneOf", "field": "c", "values": ["x"], "onFail": "warn", "when": "a / b >= 0"},
    )
    staged = stage(run_session, warehouse, path, [csv])
    filtered = any(op["op"] == "filter" for op in ops)
    assert staged.violations() == {"check/r0": 1, "later/r0": 1, "later/r1": 0 if filtered else 1, "orders/type:a": 1}
    assert sorted(row[2] for row in staged.rows) == (["w"] if filtered else ["w", "y"])
    evaluated = {r.node: r.evaluated for task in staged.result.tasks for r in task.rules if r.rule_id == "r0"}
    assert evaluated == ({"check": 3, "later": 2} if filtered else {"check": 4, "later": 3})


def test_an_error_for_a_row_that_is_left_ends_the_run_still(run_session: RunSession, warehouse: Connection, csv: Path):
    path = make_path(columns=TYPED, rules=[{"type": "notNull", "field": "a", "onFail": "skip"}], onTypeMismatch="skip")
    with pytest.raises(Terminal, match="a / b") as stopped:
        stage(run_session, warehouse, and_then(path, expression("a / b > 0")), [csv])
    assert (stopped.value.code, stopped.value.node) == ("expression.failed", "later")


def test_rows_in_many_batches_keep_in_step_where_rules_are_evaluated_in_between(
    run_session: RunSession, warehouse: Connection, tmp_path: Path
):
    file = tmp_path / "many.csv"
    file.write_text("a,b\n" + "".join(f"{n},{n % 3}\n" for n in range(1, 30_001)))
    path = make_path(columns=TYPED, rules=[{"type": "range", "field": "b", "min": 1, "onFail": "skip"}])
    staged = stage(run_session, warehouse, and_then(path, expression("a / b < 20000")), [file])
    assert staged.violations() == {
        "check/r0": 10_000,
        "later/r0": sum(n >= 20_000 for n in range(30_001) if n % 3 == 1),
    }
    assert staged.rows == [(n, n % 3) for n in range(1, 30_001) if n % 3 and n / (n % 3) < 20_000]
