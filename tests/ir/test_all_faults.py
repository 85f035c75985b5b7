"""An error of structure does not hide other errors: all are reported at once."""

from __future__ import annotations

import pytest

from ir import InvalidPipeline, parsePipelineIR
from tests.ir.cases import document

RULE = {"type": "notNull", "field": "a", "onFail": "skip"}
BAD_REGEX = {"type": "regex", "field": "a", "onFail": "skip", "pattern": "(?=a)"}
REVERSED = {"type": "range", "field": "a", "onFail": "skip", "min": 2, "max": 1}
NO_FIELD = {"type": "notNull", "onFail": "skip"}


def orders():
    """Return a valid document with a source, a transform, a validate node and a target."""
    plain = document("orders")
    source, target = plain["nodes"][0], plain["nodes"][-1]
    transform = {"id": "x", "kind": "transform", "inputs": [source["id"]], "ops": [{"op": "trim", "columns": ["a"]}]}
    validate = {"id": "v", "kind": "validate", "inputs": ["x"], "rowLevel": [dict(RULE)]}
    return plain | {"nodes": [source, transform, validate, target | {"inputs": ["v"]}]}


def faults_of(pipeline):
    with pytest.raises(InvalidPipeline) as caught:
        parsePipelineIR(pipeline)
    return {(d.code, str(d.path)) for d in caught.value.diagnostics if d.severity == "error"}


def test_the_sound_pipeline_has_no_faults():
    parsePipelineIR(orders())


def test_rules_beside_one_that_lacks_a_field():
    pipeline = orders()
    pipeline["nodes"][2]["rowLevel"] = [NO_FIELD, BAD_REGEX, REVERSED, RULE, RULE]
    assert faults_of(pipeline) == {
        ("field.missing", "/nodes/2/rowLevel/0/field"),
        ("regex.not_re2", "/nodes/2/rowLevel/1/pattern"),
        ("bounds.reversed", "/nodes/2/rowLevel/2/min"),
        ("rule.id_repeated", "/nodes/2/rowLevel/4"),
    }


def test_fields_of_a_rule_beside_another_of_its_own_that_is_faulty():
    pipeline = orders()
    pipeline["nodes"][2]["rowLevel"] = [BAD_REGEX | {"maxViolations": "3"}]
    assert faults_of(pipeline) == {
        ("value.type", "/nodes/2/rowLevel/0/maxViolations"),
        ("regex.not_re2", "/nodes/2/rowLevel/0/pattern"),
    }


def test_bounds_of_which_none_can_be_read_are_not_called_missing():
    pipeline = orders()
    pipeline["nodes"][2]["rowLevel"] = [{"type": "range", "field": "a", "onFail": "skip", "min": True, "max": []}]
    assert {code for code, _ in faults_of(pipeline)} == {"value.type"}


def test_checks_beside_a_faulty_one_and_beside_a_faulty_rule():
    pipeline = orders()
    pipeline["nodes"][2] |= {
        "rowLevel": [NO_FIELD],
        "datasetLevel": {
            "rowCount": {"onFail": "warn", "min": "x"},
            "mean": [{"column": "a", "onFail": "warn", "min": 2, "max": 1}, {"column": "a"}],
        },
        "quarantine": {"enabled": True},
    }
    assert faults_of(pipeline) >= {
        ("field.missing", "/nodes/2/rowLevel/0/field"),
        ("bounds.reversed", "/nodes/2/datasetLevel/mean/0/min"),
        ("field.missing", "/nodes/2/datasetLevel/mean/1/onFail"),
        ("quarantine.table_required", "/nodes/2/quarantine/table"),
    }


def test_ops_beside_a_faulty_one_with_the_columns_that_are_known_there():
    pipeline = orders()
    pipeline["nodes"][1]["ops"] = [
        {"op": "filter", "where": "a +"},
        {"op": "cast"},
        {"op": "trim", "columns": ["b", "b"]},
        {"op": "select", "columns": ["b"]},
        {"op": "drop", "columns": ["c"]},
    ]
    assert faults_of(pipeline) >= {
        ("expression.malformed", "/nodes/1/ops/0/where"),
        ("field.missing", "/nodes/1/ops/1/columns"),
        ("column.repeated", "/nodes/1/ops/2/columns/1"),
        ("column.unknown", "/nodes/1/ops/4/columns/0"),
    }


def test_hooks_of_a_target_that_lacks_its_table():
    pipeline = orders()
    target = pipeline["nodes"][3]
    del target["table"]
    target["postHook"] = [{"type": "sql", "statement": "DROP TABLE a"}, {"type": "sql", "statement": "SET jit = off"}]
    assert faults_of(pipeline) == {
        ("field.missing", "/nodes/3/table"),
        ("hook.sql_not_allowed", "/nodes/3/postHook/0/statement"),
        ("hook.set_after_load", "/nodes/3/postHook/1/statement"),
    }


def test_settings_of_a_source_without_an_id_and_beside_a_faulty_setting():
    pipeline = orders()
    source = pipeline["nodes"][0]
    del source["id"]
    source["config"] = {
        "path": "../in",
        "pattern": {"type": "regex", "value": "(?=a)"},
        "format": {"type": "csv", "delimiter": ";", "quote": ";"},
        "ordering": "by_size",
    }
    assert faults_of(pipeline) >= {
        ("field.missing", "/nodes/0/id"),
        ("path.not_inside", "/nodes/0/config/path"),
        ("regex.not_re2", "/nodes/0/config/pattern/value"),
        ("format.separators", "/nodes/0/config/format/quote"),
        ("value.not_allowed", "/nodes/0/config/ordering"),
    }
