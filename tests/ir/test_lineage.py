"""Lineage: which source column each target column comes from."""

from __future__ import annotations

import pytest

from ir import parsePipelineIR
from ir.lineage import FLOWS, Lineage, Trace, lineages_of
from ir.ops import OP_KINDS


def lineage(*ops: dict, columns: tuple[str, ...] = ("a", "b")) -> Lineage:
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
                "loadMode": "append",
            },
        ],
    }
    (found,) = lineages_of(parsePipelineIR(document).pipeline)
    return found


def rename(**columns: str) -> dict:
    return {"op": "rename", "columns": columns}


def derive(**columns: str) -> dict:
    return {"op": "derive", "columns": columns}


def test_every_op_says_what_it_does_to_columns():
    assert set(FLOWS) == set(OP_KINDS)


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


@pytest.mark.parametrize("kept", [{"op": "select", "columns": ["b"]}, {"op": "drop", "columns": ["a"]}])
def test_what_is_excluded_has_no_trace(kept):
    found = lineage(kept)
    assert list(found.columns) == ["b"]
    assert found.has_others == (kept["op"] == "drop")


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


def test_casts_fills_and_trims_are_steps_on_the_way():
    found = lineage(
        {"op": "trim", "columns": ["a"]},
        {"op": "fillNull", "columns": {"a": "0"}},
        {"op": "cast", "columns": {"a": "integer"}},
    )
    assert found.columns["a"].steps == ("trimmed", "NULL becomes '0'", "cast to integer")


def test_the_sources_are_reported_once_in_the_order_of_first_use():
    assert lineage(derive(c="b || a")).sources == ("a", "b")
