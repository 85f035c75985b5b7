"""Lineage: which source column each target column comes from."""

from __future__ import annotations

import pytest

from ir import parsePipelineIR
from ir.lineage import FLOWS, Lineage, Trace, columns_of_other_rows, lineages_of, sources_of
from ir.nodes.branch import Take
from ir.ops import OP_KINDS
from ir.pipeline import Pipeline
from tests.ir.cases import document


def pipeline(*ops: dict, columns: tuple[str, ...] = ("a", "b")) -> Pipeline:
    document = {
        "kind": "pipeline",
        "version": "1.0",
        "id": "p",
        "nodes": [
            {
                "id": "files",
                "kind": "source",
                "connector": "local_fs",
                "config": {"path": "in", "pattern": {"type": "glob", "value": "*.csv"}, "format": {"type": "csv"}},
                "columns": [{"name": name, "type": "string"} for name in columns],
            },
            {"id": "shape", "kind": "transform", "inputs": ["files"], "ops": list(ops)},
            {
                "id": "load",
                "kind": "target",
                "inputs": ["shape"],
                "connector": "postgres",
                "connection": "w",
                "schema": "public",
                "table": "t",
                "loadMode": "truncate",
            },
        ],
    }
    return parsePipelineIR(document).pipeline


def lineage(*ops: dict, columns: tuple[str, ...] = ("a", "b")) -> Lineage:
    (found,) = lineages_of(pipeline(*ops, columns=columns))
    return found


def rename(**columns: str) -> dict:
    return {"op": "rename", "columns": columns}


def derive(**columns: str) -> dict:
    return {"op": "derive", "columns": columns}


def test_every_op_says_what_it_does_to_columns():
    assert set(FLOWS) == {*OP_KINDS, Take}


def test_columns_that_nothing_touches_come_from_themselves():
    found = lineage({"op": "filter", "where": "a = 'x'"})
    assert found.columns == {"a": Trace(("a",)), "b": Trace(("b",))}
    assert (found.source, found.target, found.has_others, found.is_opaque) == ("files", "load", True, False)


def test_names_are_exchanged_at_once():
    found = lineage(rename(a="b", b="a"))
    assert {name: trace.sources for name, trace in found.columns.items()} == {"b": ("a",), "a": ("b",)}
    assert found.columns["a"].steps == ("renamed from b",)


def test_a_column_that_only_the_file_knows_is_traced_once_it_is_named():
    assert lineage(rename(dest="destination")).columns["destination"].sources == ("dest",)


@pytest.mark.parametrize("op", [{"op": "select", "columns": ["b"]}, {"op": "drop", "columns": ["a"]}])
def test_what_is_excluded_has_no_trace(op):
    found = lineage(op)
    assert list(found.columns) == ["b"]
    assert found.has_others == (op["op"] == "drop")


def test_a_derived_column_comes_from_all_that_its_expression_reads():
    found = lineage(rename(a="x"), derive(both="concat(x, b)", one="1"))
    assert found.columns["both"] == Trace(("a", "b"), ("renamed from a", "= concat(x, b)"))
    assert found.columns["one"] == Trace((), ("= 1",))


def test_every_expression_of_one_op_sees_the_columns_before_it():
    found = lineage(derive(a="b", b="a"))
    assert {name: trace.sources for name, trace in found.columns.items()} == {"a": ("b",), "b": ("a",)}


def test_a_column_that_was_dropped_and_made_anew_is_not_the_sources():
    found = lineage({"op": "drop", "columns": ["a"]}, derive(a="upper(b)"))
    assert found.columns["a"].sources == ("b",)


def test_elements_and_their_places_come_from_the_array():
    found = lineage({"op": "explode", "field": "a", "as": "item", "type": "bigint", "indexAs": "place"})
    assert found.columns["item"] == Trace(("a",), ("each element as bigint",))
    assert found.columns["place"] == Trace(("a",), ("place of the element",))


def test_casts_fills_and_trims_are_steps_on_the_way():
    found = lineage(
        {"op": "trim", "columns": ["a"]},
        {"op": "fillNull", "columns": {"a": "0"}},
        {"op": "cast", "columns": {"a": "integer"}},
    )
    assert found.columns["a"].steps == ("trimmed", "NULL becomes '0'", "cast to integer")


def test_the_sources_are_reported_once_in_the_order_of_first_use():
    assert lineage(derive(c="b || a")).sources == ("a", "b")


@pytest.mark.parametrize(
    ("node", "column", "sources"),
    [
        ("load", "c", ("a",)),
        ("load", "both", ("a", "b")),
        ("shape", "c", ("a",)),
        ("shape", "a", ("a",)),  # as a cast before the rename names it
        ("files", "a", ("a",)),
        ("load", "unknown", ("unknown",)),
    ],
)
def test_a_column_of_any_node_is_traced_to_the_source(node, column, sources):
    found = pipeline({"op": "cast", "columns": {"a": "integer"}}, rename(a="c"), derive(both="c + b"))
    assert sources_of(found.path_to(found.targets()[0]), node, column) == sources


def test_a_joined_column_comes_from_its_reference():
    pipeline = parsePipelineIR(document("join")).pipeline
    (found,) = lineages_of(pipeline)
    step = "looked up in customers by customer_id = id"
    assert found.columns["customer_name"] == Trace((), (step,), (("customers", "name"),))
    assert found.references == (("customers", "name"), ("regions", "region"))
    assert "customer_name" not in found.sources


def test_an_expression_over_a_joined_column_has_both_origins():
    made = document("join")
    made["nodes"][-2]["ops"].append({"op": "derive", "columns": {"label": "concat(country, customer_name)"}})
    (found,) = lineages_of(parsePipelineIR(made).pipeline)
    assert found.columns["label"].sources == ("country",)
    assert found.columns["label"].references == (("customers", "name"),)


def test_what_is_taken_out_of_a_text_comes_from_its_column():
    extract = {"op": "regexExtract", "field": "a", "pattern": "(x)", "as": "x", "onNoMatch": "null"}
    path = {"op": "jsonPath", "field": "b", "path": "$.n", "as": "n", "type": "integer", "onMissing": "null"}
    found = lineage(extract, path).columns
    assert found["x"] == Trace(("a",), ("group 1 of (x)",))
    assert found["n"] == Trace(("b",), ("value at $.n as integer",))
    assert found["a"] == Trace(("a",))


def test_members_of_an_object_come_from_its_column():
    op = {"op": "flatten", "field": "b", "columns": {"$.x.y": "date"}, "onMissing": "null", "onUnknown": "ignore"}
    assert lineage(op).columns["x_y"] == Trace(("b",), ("value at $.x.y as date",))


def test_what_an_aggregate_computes_comes_from_the_column_that_it_takes():
    columns = [{"as": "n", "function": "count"}, {"as": "last", "function": "max", "column": "b"}]
    found = lineage({"op": "aggregate", "by": ["a"], "columns": columns})
    assert found.columns == {
        "a": Trace(("a",)),
        "n": Trace((), ("= count(*) by a",)),
        "last": Trace(("b",), ("= max(b) by a",)),
    }
    assert not found.has_others


def test_what_a_window_computes_comes_from_the_column_that_it_takes():
    columns = [{"as": "n", "function": "rowNumber"}, {"as": "total", "function": "runningSum", "column": "b"}]
    found = lineage({"op": "window", "partitionBy": ["a"], "orderBy": [{"column": "b"}], "columns": columns}).columns
    assert found["n"] == Trace((), ("rowNumber by a, b ascending",), of_rows=True)
    assert found["total"] == Trace(("b",), ("runningSum by a, b ascending",), of_rows=True)


def test_columns_that_other_rows_determine_include_those_computed_from_them():
    window = {"op": "window", "orderBy": [{"column": "b"}], "columns": [{"as": "n", "function": "rowNumber"}]}
    query = {"op": "sql", "query": "SELECT *, place * 2 AS twice FROM input"}
    module = {"module": "check@sha256:" + "0f" * 32, "fields": ["a", "next"]}
    custom = {"op": "custom", **module, "columns": [{"name": "checked", "type": "string"}]}
    made = pipeline(window, rename(n="place"), derive(next="place + 1", c="a"), query, custom)
    found = columns_of_other_rows(made.path_to(made.targets()[0]))
    assert found == ("place", "next", "twice", "checked")


def test_every_column_of_a_module_comes_from_all_its_inputs():
    module = "iban-check@sha256:" + "0f" * 32
    columns = [{"name": "country", "type": "string"}, {"name": "b", "type": "string"}]
    found = lineage({"op": "custom", "module": module, "fields": ["a", "b"], "columns": columns})
    expected = Trace(("a", "b"), ("computed by the module iban-check from a, b",))
    assert found.columns == {"a": Trace(("a",)), "b": expected, "country": expected}
