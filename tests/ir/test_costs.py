"""Any input of users is refused or read within a limit of CPU time."""

from __future__ import annotations

import json
import time
from contextlib import suppress

import pytest

from ir import InvalidPipeline, parsePipelineIR
from ir.expressions import ExpressionError, parse_expression
from ir.limits import MAX_DEPTH, MAX_NODES, MAX_VALUES
from tests.ir.cases import document

SECONDS = 0.3
SLACK = 2.0
"""What a busy machine adds; without a budget these texts take ten seconds and more."""
SOURCE = document("orders")["nodes"][0]


def codes_within_budget(text, syntax="json"):
    """Return the codes of a text's diagnostics. Fails if parsing exceeds the CPU time by far."""
    began = time.thread_time()
    with pytest.raises(InvalidPipeline) as caught:
        parsePipelineIR(text, syntax=syntax, seconds=SECONDS)
    assert time.thread_time() - began < SECONDS + SLACK
    return {d.code for d in caught.value.diagnostics}


def with_ops(*ops):
    transform = {"id": "x", "kind": "transform", "inputs": [SOURCE["id"]], "ops": list(ops)}
    return json.dumps(document("orders") | {"nodes": [SOURCE, transform]})


def with_rules(*rules):
    validate = {"id": "v", "kind": "validate", "inputs": [SOURCE["id"]], "rowLevel": list(rules)}
    return json.dumps(document("orders") | {"nodes": [SOURCE, validate]})


def schema_rule(schema, field="a"):
    return {"type": "jsonSchema", "field": field, "onFail": "skip", "schema": schema}


def fan(levels):
    """Return a schema in which every level refers to the next one twice."""
    steps = {f"d{i}": {"allOf": [{"$ref": f"#/$defs/d{i + 1}"}] * 2} for i in range(levels)}
    return {"$defs": {**steps, f"d{levels}": {}}, "$ref": "#/$defs/d0"}


@pytest.mark.parametrize("count", [12_000, 30_000, 450_000])
@pytest.mark.parametrize("form", ["{} = 1", "[{}]", "[[{}]]", "a = {{{} = 1}}"])
def test_toml_keys_of_many_parts_are_refused_before_they_are_parsed(form, count):
    assert codes_within_budget(form.format(".".join("a" * count)), "toml") == {"document.too_deep"}


def test_many_toml_keys_of_as_many_parts_as_may_be_are_refused_before_they_are_parsed():
    key = ".".join(["key"] * MAX_DEPTH)
    assert codes_within_budget("\n".join(f"[{key}.{i}]" for i in range(3_000))[:900_000], "toml") <= {
        "document.too_deep",
        "document.too_large",
    }
    assert codes_within_budget("\n".join(f"a{i} = 1" for i in range(5 * MAX_VALUES))[:900_000], "toml") == {
        "document.too_large"
    }


@pytest.mark.parametrize(
    "text", ["a = '''" + "x.y" * 300_000 + "'''", "# " + "a." * 400_000, 'a = "' + "b." * 400_000 + '"']
)
def test_dots_in_toml_texts_and_comments_are_no_keys(text):
    assert "document.too_deep" not in codes_within_budget(text, "toml")


@pytest.mark.parametrize("name", ["date", "int", "decimal", "struct", "timestamp", "date(1,", "array", "map", "cast"])
def test_nested_calls_that_look_like_types_are_read_once(name):
    opening = name if name.endswith(",") else f"{name}("
    text = opening * 28 + "a" + ")" * 28 if name != "date(1," else opening * 28 + "(a)" + ")" * 28
    began = time.thread_time()
    with suppress(ExpressionError):
        parse_expression(text)
    assert time.thread_time() - began < SECONDS + SLACK


def test_an_expression_is_nested_as_deeply_as_people_need_and_no_deeper():
    parse_expression("(" * 25 + "a" + ")" * 25)
    parse_expression("CASE WHEN a THEN 1 ELSE " * 25 + "2" + " END" * 25)
    with pytest.raises(ExpressionError, match="nested more than 30 levels"):
        parse_expression("(" * 31 + "a" + ")" * 31)


@pytest.mark.parametrize(
    "text", ["CAST(x AS DECIMAL(MAX))", "CAST(x AS DECIMAL(1, 2, 3))", "CAST(x AS DECIMAL(99999))", "date[(1)]"]
)
def test_an_expression_that_spark_would_refuse_is_refused_in_words(text):
    with pytest.raises(ExpressionError):
        parse_expression(text)


def test_many_long_expressions_end_with_the_budget():
    long = [{"op": "filter", "where": " AND ".join(f"a = {i}{j}" for j in range(480))} for i in range(120)]
    assert codes_within_budget(with_ops(*long)) == {"document.too_costly"}


def test_json_schemas_that_ask_themselves_again_and_again_end_with_the_budget():
    rules = [schema_rule(fan(40), f"a{i}") for i in range(100)]
    assert codes_within_budget(with_rules(*rules)) == {"document.too_costly"}


def test_a_json_schema_with_a_long_chain_of_references_is_checked_within_the_budget():
    chain = {f"d{i}": {"$ref": f"#/$defs/d{i + 1}"} for i in range(2_500)}
    assert codes_within_budget(with_rules(schema_rule({"$defs": {**chain, "d2500": {}}, "$ref": "#/$defs/d0"})))


@pytest.mark.parametrize(
    "source",
    [
        {"query": "SELECT 1" + " + 1" * 2_000},
        {"query": "SELECT " + "(SELECT " * 1_000 + "1" + ")" * 1_000},
    ],
    ids=["sum", "subqueries"],
)
def test_many_long_queries_end_with_the_budget(source):
    nodes = [
        {"id": f"s{i}", "kind": "source", "connector": "postgres", "connection": "w", "config": source}
        for i in range(100)
    ]
    assert codes_within_budget(json.dumps(document("orders") | {"nodes": nodes}))


def test_the_longest_chain_of_nodes_ends_with_the_budget():
    nodes = [SOURCE]
    for i in range(MAX_NODES - 1):
        rename = {"op": "rename", "columns": {f"a{i}": f"b{i}"}}
        nodes.append({"id": f"n{i}", "kind": "transform", "inputs": [f"n{i - 1}"], "ops": [rename]})
    assert codes_within_budget(json.dumps(document("orders") | {"nodes": nodes}))


def test_without_a_time_the_steps_alone_are_counted(monkeypatch):
    monkeypatch.setattr(time, "thread_time", lambda: pytest.fail("a stored document is read alike everywhere"))
    assert parsePipelineIR(document("orders"))


def test_a_format_of_a_date_that_names_a_part_twice_is_refused():
    column = {"name": "day", "type": "date", "format": "%d/%m/%Y %d"}
    nodes = [SOURCE | {"columns": [column]}, *document("orders")["nodes"][1:]]
    assert "value.malformed" in codes_within_budget(json.dumps(document("orders") | {"nodes": nodes}))
