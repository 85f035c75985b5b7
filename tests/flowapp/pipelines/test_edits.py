"""Actions of forms become JSON Patches that fit the document."""

from __future__ import annotations

import json

import pytest
from django.http import QueryDict

from flowapp.pipelines.edits import form_patch
from flowapp.pipelines.neighbours import joining, readers_of, with_references
from ir.json_edits import PatchRefused, apply_patch


def test_an_index_of_thousands_of_digits_in_a_path_is_refused() -> None:
    patch = form_patch({"nodes": []}, QueryDict(f"action=set&path=/nodes/{'9' * 5000}&value=1"))
    with pytest.raises(PatchRefused):
        apply_patch('{"nodes": []}', patch)


def test_a_renamed_node_has_its_new_name_in_the_joins_that_name_it() -> None:
    join = {"op": "join", "with": "names", "type": "semi", "on": {"id": "key"}}
    shape = {"id": "shape", "kind": "transform", "inputs": ["files", "names"], "ops": [{"op": "trim"}, join]}
    document = {"nodes": [{"id": "files"}, {"id": "names"}, shape]}
    patch = form_patch(document, QueryDict("action=rename_node&node=names&value=customers"))
    renamed = json.loads(apply_patch(json.dumps(document), patch))["nodes"][2]
    assert renamed["inputs"] == ["files", "customers"]
    assert renamed["ops"][1]["with"] == "customers"


JOIN = {"op": "join", "with": "names", "type": "semi", "on": {"id": "key"}}


def joined(*ops: dict, inputs: tuple[str, ...] = ("files", "names")) -> dict:
    nodes = [{"id": name, "kind": "source"} for name in ("files", "names", "codes")]
    return {
        "nodes": [*nodes, {"id": "shape", "kind": "transform", "inputs": list(inputs), "ops": list(ops or (JOIN,))}]
    }


def edited(document: dict, action: str) -> dict:
    """The node `shape` after an action of a form."""
    nodes = json.loads(apply_patch(json.dumps(document), form_patch(document, QueryDict(action))))["nodes"]
    return next(node for node in nodes if node["id"] == "shape")


@pytest.mark.parametrize(
    ("document", "inputs"),
    [
        (joined(), ["files", "codes"]),
        (joined(inputs=("files",)), ["files", "codes"]),
        (joined(JOIN, {**JOIN, "with": "names"}), ["files", "names", "codes"]),
        (joined(inputs=("files", "names", "codes")), ["files", "names", "codes"]),
    ],
)
def test_the_inputs_follow_the_reference_that_a_join_names(document: dict, inputs: list[str]) -> None:
    node = edited(document, "action=set&path=/nodes/3/ops/0/with&value=codes")
    assert (node["inputs"], node["ops"][0]["with"]) == (inputs, "codes")


def test_further_inputs_stay_when_the_rows_come_from_another_node() -> None:
    assert edited(joined(), "action=set_input&node=shape&value=codes")["inputs"] == ["codes", "names"]
    assert edited(joined(), "action=set_input&node=shape&value=names")["inputs"] == ["names"]


UNION = {"op": "union"}


def test_the_inputs_of_a_union_are_those_that_are_chosen() -> None:
    assert edited(joined(UNION), "action=set_input&node=shape&value=codes&value=names")["inputs"] == ["names", "codes"]
    assert edited(joined(UNION), "action=set_input&node=shape&value=files")["inputs"] == ["files"]
    assert edited(joined(UNION), "action=delete_node&node=files")["inputs"] == ["names"]
    assert edited(joined(UNION), "action=rename_node&node=names&value=codes2")["inputs"] == ["files", "codes2"]


def test_the_nodes_around_a_union_are_its_inputs_and_readers() -> None:
    document = joined(UNION)
    files, names, codes, shape = document["nodes"]
    assert readers_of(document, names) == readers_of(document, files) == [shape]
    assert readers_of(document, codes) == joining(document, names) == []
    assert with_references(document, [names, shape]) == [names, shape, files]
    assert readers_of(joined(), joined()["nodes"][1]) == []


def test_a_deleted_reference_takes_its_joins_along() -> None:
    trim = {"op": "trim", "columns": ["id"]}
    node = edited(joined(trim, JOIN), "action=delete_node&node=names")
    assert (node["inputs"], node["ops"]) == (["files"], [trim])


def branching() -> dict:
    branches = [{"to": "eu", "where": "a"}, {"to": "us", "where": "b"}]
    ends = [{"id": name, "kind": "target", "inputs": ["shape"]} for name in ("eu", "us", "rest")]
    route = {"id": "shape", "kind": "branch", "inputs": ["files"], "branches": branches, "default": "rest"}
    return {"nodes": [{"id": "files", "kind": "source"}, *ends, route]}


def test_branches_follow_the_nodes_that_they_lead_to() -> None:
    assert edited(branching(), "action=rename_node&node=us&value=usa")["branches"][1]["to"] == "usa"
    assert edited(branching(), "action=rename_node&node=rest&value=others")["default"] == "others"
    node = edited(branching(), "action=delete_node&node=eu")
    assert [branch["to"] for branch in node["branches"]] == ["us"]
    assert "default" not in edited(branching(), "action=delete_node&node=rest")


def test_branches_follow_the_nodes_that_read_from_their_node() -> None:
    left = edited(branching(), "action=set_input&node=eu&value=files")
    assert [branch["to"] for branch in left["branches"]] == ["us"]
    document = branching()
    document["nodes"].append({"id": "asia", "kind": "target", "inputs": ["files"]})
    joined_by = edited(document, "action=set_input&node=asia&value=shape")
    assert joined_by["branches"][2:] == [{"to": "asia", "where": ""}]
