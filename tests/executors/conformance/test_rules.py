"""Row rules in runs: counts including zeros, limits, and the results of rejected rows."""

from __future__ import annotations

import uuid
from dataclasses import replace
from typing import Any

import pytest

from executors.errors import Failure, Terminal
from executors.model import Connection
from executors.postgres.client import connect
from executors.postgres.meta import ensure_meta
from executors.spark import first_failing
from tests.executors.conformance.world import FORMATS, World, reconciles, target_of
from tests.roles import new_role

pytestmark = [pytest.mark.spark, pytest.mark.postgres]

TEN = [{"id": n, "name": None if n in (2, 5) else f"n{n}", "age": 200 if n == 10 else n} for n in range(1, 11)]
NOT_NULL = {"type": "notNull", "field": "name", "onFail": "skip", "id": "named"}
RANGE = {"type": "range", "field": "age", "min": 0, "max": 150, "onFail": "abort", "id": "age"}


def every_rule() -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = [
        {"type": "notNull", "field": "name"},
        {"type": "regex", "field": "name", "pattern": "^n"},
        {"type": "range", "field": "age", "min": 0},
        {"type": "minLength", "field": "name", "min": 2},
        {"type": "maxLength", "field": "name", "max": 9},
        {"type": "fieldType", "field": "id", "expected": "integer"},
        {"type": "oneOf", "field": "id", "values": list(range(1, 11))},
        {"type": "notOneOf", "field": "id", "values": [0]},
        {"type": "notInFuture", "field": "day"},
        {"type": "email", "field": "mail"},
        {"type": "url", "field": "site"},
        {"type": "jsonSchema", "field": "extra", "schema": {"type": "object"}},
    ]
    return [{**rule, "onFail": "warn"} for rule in found]


@pytest.fixture
def ready(world: World) -> World:
    world.sql("create table t (id int primary key, name text, age int)")
    world.write("a.csv", FORMATS["csv"](TEN))
    return world


def entries(world: World) -> list[tuple[Any, ...]]:
    return world.sql('select "sourceRecord", "ruleId", disposition, "runId"::text from rejected order by 1')


@pytest.mark.parametrize("format", FORMATS)
def test_every_rule_reports_its_count_also_when_it_is_zero(world: World, format: str) -> None:
    row = {"id": 1, "name": "n1", "age": 1, "day": "2020-01-01", "mail": "a@b.c", "site": "https://b.c", "extra": "{}"}
    world.write("a", FORMATS[format]([row]))
    report = world.run(world.document(format=format, rules=every_rule()))
    assert {rule.type: rule.violations for rule in report.rules} == {rule["type"]: 0 for rule in every_rule()}
    assert {rule.evaluated for rule in report.rules} == {1}
    assert (report.warnings, target_of(report).rows_loaded) == ([], 1)


def test_rows_are_distinguished_by_condition_and_expression(ready: World) -> None:
    rules = [
        {"type": "notNull", "field": "name", "onFail": "skip", "when": "id < 5"},
        {"type": "expression", "expression": "age < 100", "onFail": "warn"},
    ]
    report = ready.run(
        ready.document(rules=rules, columns=[{"name": "id", "type": "integer"}, {"name": "age", "type": "integer"}])
    )
    assert [(rule.type, rule.field, rule.violations) for rule in report.rules] == [
        ("notNull", "name", 1),
        ("expression", None, 1),
    ]
    assert (target_of(report).rows_loaded, target_of(report).rows_rejected, reconciles(report)) == (9, 1, True)


ODD = [
    {"id": 1, "age": None, "mail": None},
    {"id": 2, "age": "-1", "mail": ""},
    {"id": 3, "age": "151", "mail": "a@b"},
    {"id": 4, "age": "150", "mail": "a@b.c"},
    {"id": 5, "age": "abc", "mail": "x"},
    {"id": 6, "age": "NaN", "mail": " "},
]
ON_ODD = {
    "range": ({"type": "range", "field": "age", "min": 0, "max": 150}, [2, 3, 5, 6]),
    "whole": ({"type": "fieldType", "field": "age", "expected": "integer"}, [5, 6]),
    "regex": ({"type": "regex", "field": "mail", "pattern": "^.+@.+$"}, [2, 5, 6]),
    "short": ({"type": "maxLength", "field": "mail", "max": 3}, [4]),
    "mail": ({"type": "email", "field": "mail"}, [2, 3, 5, 6]),
    # The load stores '' as NULL.
    "there": ({"type": "notNull", "field": "mail"}, [1, 2]),
}


@pytest.mark.parametrize("format", ["csv", "jsonl", "parquet"])
def test_null_empty_and_nonsense_have_one_outcome_in_preview_run_and_quarantine(world: World, format: str) -> None:
    world.write("a", FORMATS[format](ODD))
    rules = [{**rule, "id": name, "onFail": "warn"} for name, (rule, _) in ON_ODD.items()]
    document = world.document(format=format, rules=rules)
    previewed, ran = world.preview(document), world.run(document)
    counts = {name: len(rows) for name, (_, rows) in ON_ODD.items()}
    assert {rule.rule_id: rule.violations for rule in previewed.rules} == counts
    assert {rule.rule_id: rule.violations for rule in ran.rules} == counts
    found = world.sql(
        'select "ruleId", array_agg("sourceRecord"::int order by "sourceRecord") from rejected group by 1'
    )
    assert dict(found) == {name: rows for name, (_, rows) in ON_ODD.items()}


def test_a_limit_that_is_not_passed_lets_the_run_go_on(ready: World) -> None:
    report = ready.run(ready.document(rules=[{**NOT_NULL, "maxViolations": 2, "maxViolationPct": 20}]))
    assert (target_of(report).rows_loaded, target_of(report).rows_rejected) == (8, 2)


@pytest.mark.parametrize("limit", [{"maxViolations": 1}, {"maxViolationPct": 19.9}])
def test_beyond_its_limit_a_rule_stops_the_run_and_its_rows_are_kept(ready: World, limit: dict[str, Any]) -> None:
    run_id = str(uuid.uuid4())
    document = ready.document(rules=[{**NOT_NULL, **limit}])
    with pytest.raises(Terminal) as stopped:
        ready.run(document, run_id=run_id)
    assert (stopped.value.code, stopped.value.node) == ("rule.limit", "check")
    assert "failed on 2 rows, more than" in stopped.value.message
    assert "(in/a.csv record 2, 5)" in stopped.value.message.replace("(a.csv", "(in/a.csv")
    assert ready.rows() == []
    assert [entry[:2] for entry in entries(ready)] == [(2, "named"), (5, "named")]


def test_rejected_rows_of_a_run_that_aborts_are_kept_once_whatever_is_tried_again(ready: World) -> None:
    """Ten rows: two of them violate a skip rule, and the last one an abort rule."""
    run_id, document = str(uuid.uuid4()), ready.document(rules=[NOT_NULL, RANGE])
    for attempt in (1, 2):
        with pytest.raises(Terminal, match=r"rule\.abort"):
            ready.run(document, run_id=run_id, attempt=attempt)
        assert ready.rows() == []
        found = [(record, rule) for record, rule, _, run in entries(ready) if run == run_id]
        assert found == [(2, "named"), (5, "named"), (10, "age")]


@pytest.mark.parametrize("spoil", ['create table rejected ("runId" text)', "drop schema if exists missing"])
def test_a_quarantine_that_cannot_be_written_fails_the_run_before_rows_are_dropped(ready: World, spoil: str) -> None:
    ready.sql(spoil)
    document = ready.document(rules=[NOT_NULL])
    if "missing" in spoil:
        check = next(node for node in document["nodes"] if node["id"] == "check")
        check["quarantine"]["table"] = "missing.rejected"
        ready.run(document)  # the schema is made
        assert ready.sql("select count(*) from missing.rejected") == [(2,)]
        ready.sql("drop schema missing cascade")
        return
    with pytest.raises(Failure) as stopped:
        ready.run(document)
    assert stopped.value.code.startswith("quarantine.")
    assert ready.rows() == []
    assert "pass" not in [step for step, _ in ready.memory.steps]


def test_the_first_rejected_row_makes_the_quarantine_table_and_a_clean_run_does_not(ready: World) -> None:
    document = ready.document(rules=[NOT_NULL], mode="upsert")
    ready.write("a.csv", FORMATS["csv"](TEN[:1]))
    assert target_of(ready.run(document)).rows_loaded == 1
    assert ready.sql("select to_regclass('rejected')") == [(None,)]
    ready.write("b.csv", FORMATS["csv"](TEN))
    assert target_of(ready.run(document)).rows_rejected == 2
    assert len(entries(ready)) == 2


def test_a_quarantine_that_could_not_be_created_fails_the_run_before_the_source_is_read(
    ready: World, server: Connection
) -> None:
    name = f"role_{ready.schema}"
    with connect(replace(server, database=ready.warehouse.database), autocommit=True) as admin:
        ensure_meta(admin)
        with new_role(admin, name):
            admin.execute(f"grant usage on schema {ready.schema} to {name}")
            admin.execute(f"grant all on all tables in schema {ready.schema} to {name}")
            admin.execute(f"grant create on database {ready.warehouse.database} to {name}")
            for schema in ("flow_meta", "flow_staging"):
                admin.execute(f"grant all on schema {schema} to {name}")
            admin.execute(f"grant all on all tables in schema flow_meta to {name}")
            ready.warehouse = replace(ready.warehouse, user=name, password="x")
            with pytest.raises(Terminal) as stopped:
                ready.run(ready.document(rules=[NOT_NULL]))
    assert stopped.value.code == "quarantine.unusable"
    assert "pass" not in [step for step, _ in ready.memory.steps]


def test_a_quarantine_of_a_name_with_blanks_and_capitals(ready: World) -> None:
    document = ready.document(rules=[NOT_NULL])
    check = next(node for node in document["nodes"] if node["id"] == "check")
    check["quarantine"]["table"] = f'{ready.schema}."My Orders"'
    ready.run(document)
    assert ready.sql('select count(*) from "My Orders"') == [(2,)]


@pytest.mark.parametrize("mode", ["append", "truncate", "upsert", "blue_green", "incremental_watermark"])
@pytest.mark.parametrize("rows", [TEN, TEN[1:2]], ids=["some", "all"])
def test_the_reported_number_of_loaded_rows_is_that_of_the_table(ready: World, mode: str, rows: list[Any]) -> None:
    """The number is correct even if every row is rejected."""
    ready.write("a.csv", FORMATS["csv"](rows))
    document = ready.document(mode=mode, rules=[NOT_NULL], failOnEmptySource=False, failAtRejectedPct=0)
    report = ready.run(document)
    target = target_of(report)
    assert reconciles(report)
    assert target.rows_loaded == len(ready.rows()) == len([row for row in rows if row["name"]])
    assert target.rows_rejected == len(entries(ready))


def test_a_line_that_is_rejected_anyway_fails_no_expression_and_nothing_is_loaded_twice(world: World) -> None:
    world.sql("create table t (id int primary key, name text, per float)")
    world.write("a.csv", "id,name,n,parts\n1,Ann,6,2\n2,Bob,9,3\nTOTAL,,0,0\n")
    columns = [{"name": name, "type": "integer"} for name in ("id", "n", "parts")]
    ops = [{"op": "derive", "columns": {"per": "n / parts"}}, {"op": "drop", "columns": ["n", "parts"]}]
    report = world.run(world.document(ops=ops, columns=columns, onTypeMismatch="skip"))
    assert world.rows() == [(1, "Ann", 3), (2, "Bob", 3)]
    assert entries(world)[0][:2] == (3, "type:id")
    assert reconciles(report)


def test_a_failed_expression_names_the_row_in_the_run_s_error(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(first_failing, "SECONDS", 600)
    world.sql("create table t (id int primary key, name text, per float)")
    world.write("a.csv", "id,name\n1,Ann\n0,Bob\n")
    with pytest.raises(Terminal) as failed:
        world.run(world.document(rules=[NOT_NULL], ops=[{"op": "derive", "columns": {"per": "1 / id"}}]))
    assert failed.value.message.endswith("DIVIDE_BY_ZERO. The first failing row is in/a.csv record 2.")
    assert (failed.value.code, failed.value.node) == ("expression.failed", "shape")
    query = 'select "nodeId", "ruleId", field, message, disposition, row, "sourceRecord", status from rejected'
    why = "makes an expression fail: DIVIDE_BY_ZERO"
    entry = ("shape", "expression:per", "per", why, "not_loaded", {"id": "0", "name": "Bob"}, 2)
    assert world.sql(query) == [(*entry, "open")]
    report = failed.value.report
    assert [(rule.node, rule.rule_id, rule.field, rule.violations) for rule in report.rules] == [(*entry[:3], 1)]
    assert (report.quarantine_rows, report.quarantine_entries) == (1, 1)
    world.run(world.document(ops=[{"op": "derive", "columns": {"per": "try_divide(1, id)"}}]))
    assert world.sql(query) == [(*entry, "fixed")]
    assert world.rows("id, per") == [(0, None), (1, 1)]
