"""The columns of a document that are known after each op."""

from __future__ import annotations

from typing import Any

import pytest

from ir import InvalidPipeline, parsePipelineIR
from ir.columns import Columns
from tests.ir.cases import document


def unknown(ops: list[dict[str, Any]], field: str = "id") -> list[str]:
    """Return the locations of missing columns, with these ops before a rule on `field`."""
    made = document("orders")
    made["nodes"][1]["ops"] = ops
    made["nodes"][2]["rowLevel"][0]["field"] = field
    try:
        parsePipelineIR(made)
    except InvalidPipeline as error:
        return [str(d.path) for d in error.diagnostics if d.code == "column.unknown"]
    return []


RULE = "/nodes/2/rowLevel/0/field"


def test_a_file_may_have_undeclared_columns():
    assert unknown([{"op": "trim", "columns": ["x"]}], "anything") == []


def test_after_a_select_there_are_no_others():
    assert unknown([{"op": "select", "columns": ["id", "x"]}], "id") == []
    assert unknown([{"op": "select", "columns": ["x"]}], "id") == [RULE]


def test_a_dropped_or_renamed_column_is_gone():
    assert unknown([{"op": "drop", "columns": ["id"]}]) == [RULE]
    assert unknown([{"op": "rename", "columns": {"id": "key"}}]) == [RULE]
    assert unknown([{"op": "rename", "columns": {"id": "key"}}], "key") == []


def test_names_can_be_exchanged():
    assert unknown([{"op": "rename", "columns": {"id": "total", "total": "id"}}], "id") == []


def test_a_derived_column_is_there_again():
    assert unknown([{"op": "drop", "columns": ["id"]}, {"op": "derive", "columns": {"id": "1"}}]) == []


def test_expressions_of_one_derive_see_the_columns_before_it():
    ops = [{"op": "select", "columns": ["id"]}, {"op": "derive", "columns": {"a": "id + 1", "b": "a + 1"}}]
    assert unknown(ops) == ["/nodes/1/ops/1/columns/b"]


@pytest.mark.parametrize(
    ("op", "place"),
    [
        ({"op": "filter", "where": "gone > 0"}, "where"),
        ({"op": "cast", "columns": {"gone": "integer"}}, "columns/gone"),
        ({"op": "fillNull", "columns": {"gone": 0}}, "columns/gone"),
        ({"op": "trim", "columns": ["id", "gone"]}, "columns/1"),
        ({"op": "drop", "columns": ["gone"]}, "columns/0"),
        ({"op": "rename", "columns": {"gone": "here"}}, "columns/gone"),
        ({"op": "select", "columns": ["id", "gone"]}, "columns/1"),
    ],
)
def test_every_op_names_the_column_that_it_misses(op, place):
    assert unknown([{"op": "select", "columns": ["id"]}, op]) == [f"/nodes/1/ops/1/{place}"]


def test_checks_look_at_columns_too():
    made = document("orders")
    made["nodes"][1]["ops"] = [{"op": "select", "columns": ["id"]}]
    made["nodes"][2]["datasetLevel"] = {
        "fkIntegrity": [{"column": "customer", "refTable": "a.b", "refColumn": "c", "onFail": "warn"}]
    }
    with pytest.raises(InvalidPipeline) as caught:
        parsePipelineIR(made)
    assert [str(d.path) for d in caught.value.diagnostics] == ["/nodes/2/datasetLevel/fkIntegrity/0/column"]


def test_columns_stay_in_order():
    columns = Columns(("a", "b", "c"), closed=True).renamed({"b": "x"}).with_added(["d", "a"]).without(["c"])
    assert columns.present == ("a", "x", "d")
    assert [columns.has(name) for name in ("a", "b", "c", "d")] == [True, False, False, True]


def test_the_types_that_the_document_states_go_with_their_columns():
    columns = Columns(("a", "b"), types={"a": "integer", "b": "date"})
    assert columns.renamed({"a": "b", "b": "a"}).types == {"b": "integer", "a": "date"}
    assert columns.cast({"a": "string"}).types == {"a": "string", "b": "date"}
    assert columns.selected(["b"]).types == {"b": "date"}
    assert columns.without(["b"]).types == {"a": "integer"}
    assert columns.with_added(["b"]).types == {"a": "integer"}
