"""Edits of a draft that a column of a preview offers."""

from __future__ import annotations

import json
from typing import Any

import pytest

from flowapp.node_previews.column_edits import ColumnEdit, column_patch
from ir.errors import FlowError
from ir.json_edits import PatchRefused, apply_patch
from tests.flowapp.conftest import make_document

SHAPE = {"id": "shape", "kind": "transform", "inputs": ["files"], "ops": [{"op": "trim", "columns": ["name"]}]}
CHECK = {"id": "check", "kind": "validate", "inputs": ["shape"], "rowLevel": []}


def document(*inner: dict[str, Any], reads: str = "files") -> dict[str, Any]:
    source, load = make_document()["nodes"]
    return make_document(nodes=[source, *inner, {**load, "inputs": [reads]}])


def edited(before: dict[str, Any], *edit: Any) -> dict[str, Any]:
    """The nodes after the edit, by id."""
    text = apply_patch(json.dumps(before), column_patch(before, ColumnEdit(*edit)))
    return {node["id"]: node for node in json.loads(text)["nodes"]}


def ops(before: dict[str, Any], *edit: Any) -> list[Any]:
    return [op for node in edited(before, *edit).values() if node["kind"] == "transform" for op in node["ops"]]


SHAPED = document(SHAPE, CHECK, reads="check")
TRIM = SHAPE["ops"][0]


@pytest.mark.parametrize(
    ("edit", "op"),
    [
        (("rename", "shape", "name", "string", "who"), {"op": "rename", "columns": {"name": "who"}}),
        (("cast", "shape", "id", "string", "integer"), {"op": "cast", "columns": {"id": "integer"}}),
        (("drop", "shape", "id"), {"op": "drop", "columns": ["id"]}),
        (("keep_value", "shape", "name", "string", "O'Hara"), {"op": "filter", "where": r"name = 'O\'Hara'"}),
        (("keep_value", "shape", "n", "decimal(9,2)", "-1.50"), {"op": "filter", "where": "n = -1.50"}),
        (("keep_value", "shape", "ok", "boolean", "true"), {"op": "filter", "where": "ok = true"}),
        (
            ("keep_value", "shape", "day", "date", "2026-01-31"),
            {"op": "filter", "where": "day = CAST('2026-01-31' AS DATE)"},
        ),
        (("keep_value", "shape", "x", "float", "1e-07"), {"op": "filter", "where": "x = CAST('1e-07' AS DOUBLE)"}),
        (
            ("keep_value", "shape", "at", "timestamptz", "2026-01-31 08:00:00.25Z"),
            {"op": "filter", "where": "at = CAST('2026-01-31 08:00:00.25Z' AS TIMESTAMP)"},
        ),
        (("keep_value", "shape", "unit price", "string", None), {"op": "filter", "where": "`unit price` IS NULL"}),
        (("keep_value", "shape", "doc", "json", "{}"), {"op": "filter", "where": "CAST(doc AS STRING) = '{}'"}),
    ],
)
def test_an_edit_of_a_transform_is_its_last_op(edit, op):
    assert ops(SHAPED, *edit) == [TRIM, op]


def test_an_edit_after_a_transform_is_appended_to_it():
    assert (
        ops(SHAPED, "drop", "load", "id")
        == ops(SHAPED, "drop", "check", "id")
        == [TRIM, {"op": "drop", "columns": ["id"]}]
    )


def test_an_edit_of_a_source_comes_before_the_ops_of_its_transform():
    assert ops(SHAPED, "drop", "files", "id") == [{"op": "drop", "columns": ["id"]}, TRIM]


@pytest.mark.parametrize("node", ["files", "check", "load"])
def test_without_a_transform_one_is_put_behind_the_source(node):
    nodes = edited(document({**CHECK, "inputs": ["files"]}, reads="check"), "drop", node, "id")
    assert nodes["transform"] == {
        "id": "transform",
        "kind": "transform",
        "inputs": ["files"],
        "ops": [{"op": "drop", "columns": ["id"]}],
    }
    assert nodes["check"]["inputs"] == ["transform"]


@pytest.mark.parametrize("node", ["files", "shape", "check"])
def test_a_rule_is_added_to_the_next_validate_node(node):
    nodes = edited(SHAPED, "add_rule", node, "name", "string", "maxLength")
    (rule,) = nodes["check"]["rowLevel"]
    assert (rule["type"], rule["field"], rule["onFail"]) == ("maxLength", "name", "skip")


@pytest.mark.parametrize("node", ["files", "load"])
def test_without_a_validate_node_one_is_put_before_the_target(node):
    nodes = edited(document(), "add_rule", node, "name", "string", "notNull")
    assert (nodes["check"]["inputs"], nodes["load"]["inputs"]) == (["files"], ["check"])
    assert [rule["type"] for rule in nodes["check"]["rowLevel"]] == ["notNull"]


def test_a_key_makes_the_load_an_upsert_and_grows():
    nodes = edited(SHAPED, "use_as_key", "shape", "id")
    assert (nodes["load"]["loadMode"], nodes["load"]["upsertKey"]) == ("upsert", ["id"])
    again = edited({**SHAPED, "nodes": list(nodes.values())}, "use_as_key", "load", "name")
    assert again["load"]["upsertKey"] == ["id", "name"]


def parting(at: str) -> dict[str, Any]:
    """files → shape → load and copy: both read from the node `at`."""
    whole = document(SHAPE, reads=at)
    return {**whole, "nodes": [*whole["nodes"], {**whole["nodes"][-1], "id": "copy", "table": "copies"}]}


def test_an_edit_at_one_branch_leaves_the_others_as_they_are():
    nodes = edited(parting("shape"), "drop", "copy", "id")
    assert (nodes["shape"], nodes["load"]["inputs"]) == (SHAPE, ["shape"])
    assert (nodes["transform"]["inputs"], nodes["copy"]["inputs"]) == (["shape"], ["transform"])
    nodes = edited(parting("shape"), "add_rule", "copy", "id", "string", "notNull")
    assert (nodes["check"]["inputs"], nodes["copy"]["inputs"], nodes["load"]["inputs"]) == (
        ["shape"],
        ["check"],
        ["shape"],
    )


@pytest.mark.parametrize("node", ["files", "shape"])
def test_where_the_branches_part_an_edit_is_for_the_one_that_is_chosen(node):
    before = parting(node)
    with pytest.raises(FlowError, match=f"Several nodes read from {node}: .*load, copy"):
        column_patch(before, ColumnEdit("drop", node, "id"))
    for action, value, kind in (("drop", "", "transform"), ("add_rule", "notNull", "check")):
        nodes = edited(before, action, node, "id", "string", value, "copy")
        assert (nodes[kind]["inputs"], nodes["copy"]["inputs"]) == ([node], [kind])
        assert nodes["load"]["inputs"] == [node]
        assert nodes["shape"] == SHAPE


def test_an_edit_can_be_for_all_branches():
    nodes = edited(parting("shape"), "drop", "shape", "id", "string", "", "*")
    assert nodes["shape"]["ops"] == [TRIM, {"op": "drop", "columns": ["id"]}]


def test_a_key_is_that_of_the_chosen_target():
    nodes = edited(parting("shape"), "use_as_key", "shape", "id", "string", "", "copy")
    assert (nodes["copy"]["loadMode"], nodes["load"]["loadMode"]) == ("upsert", "append")
    with pytest.raises(FlowError, match="leads to no single target"):
        column_patch(parting("shape"), ColumnEdit("use_as_key", "files", "id"))


@pytest.mark.parametrize(
    "edit",
    [
        ("explode", "shape", "id"),
        ("rename", "shape", "id", "string", " "),
        ("add_rule", "shape", "id", "string", "nonsense"),
        ("drop", "gone", "id"),
    ],
)
def test_what_cannot_be_done_is_refused(edit):
    with pytest.raises((PatchRefused, FlowError)):
        column_patch(SHAPED, ColumnEdit(*edit))


def test_a_name_that_stays_changes_nothing():
    assert column_patch(SHAPED, ColumnEdit("rename", "shape", "id", "string", "id")) == []


def test_no_filter_is_made_of_a_value_that_is_shown_cut():
    with pytest.raises(FlowError, match="shows only the first of them") as refused:
        column_patch(SHAPED, ColumnEdit("keep_value", "shape", "name", "string", "x" * 500 + "… (900 characters)"))
    assert refused.value.code == "preview.edit_refused"


# --- references of joins ------------------------------------------------------------------------------------------

JOIN = {"op": "join", "with": "names", "type": "left", "on": {"id": "key"}, "columns": {"full": "full"}}
NAMES = {**make_document()["nodes"][0], "id": "names"}
JOINED = document(NAMES, {**SHAPE, "inputs": ["files", "names"], "ops": [JOIN]}, reads="shape")


def test_an_edit_of_a_reference_comes_before_the_join():
    nodes = edited(JOINED, "drop", "names", "x")
    (new,) = (node for name, node in nodes.items() if name not in ("files", "names", "shape", "load"))
    assert (new["kind"], new["inputs"], new["ops"]) == ("transform", ["names"], [{"op": "drop", "columns": ["x"]}])
    assert nodes["shape"]["inputs"] == ["files", new["id"]]
    assert nodes["shape"]["ops"][0]["with"] == new["id"]


def test_an_edit_after_a_join_is_appended_to_its_node():
    assert ops(JOINED, "drop", "load", "x") == [JOIN, {"op": "drop", "columns": ["x"]}]


def test_a_reference_takes_no_rule():
    with pytest.raises(PatchRefused, match="only looked up"):
        column_patch(JOINED, ColumnEdit("add_rule", "names", "x", value="notNull"))
