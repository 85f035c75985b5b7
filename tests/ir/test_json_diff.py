"""A patch of two documents turns one into the other, and contains only the differences."""

from __future__ import annotations

import json

from hypothesis import given
from hypothesis import strategies as st

from ir.json_diff import are_equal, make_patch
from ir.json_edits import apply_patch
from tests.ir.documents_of import pipelines

VALUES = st.recursive(
    st.booleans() | st.integers(0, 3) | st.sampled_from([1.0, "a", ""]),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.sampled_from("ab/~"), inner, max_size=3),
    max_leaves=12,
)
OBJECTS = st.dictionaries(st.sampled_from("abc"), VALUES, max_size=3)


@given(OBJECTS, OBJECTS)
def test_the_patch_gives_the_new_document(old, new) -> None:
    assert are_equal(json.loads(apply_patch(json.dumps(old), make_patch(old, new))), new)


@given(pipelines(), pipelines())
def test_the_patch_turns_one_pipeline_into_another(old, new) -> None:
    assert are_equal(json.loads(apply_patch(json.dumps(old), make_patch(old, new))), new)


@given(OBJECTS)
def test_equal_documents_need_no_patch(value) -> None:
    assert make_patch(value, json.loads(json.dumps(value))) == []


def test_a_changed_node_is_not_replaced_as_a_whole() -> None:
    old = {"nodes": [{"id": "a", "x": 1}, {"id": "b", "x": 1}, {"id": "c"}]}
    new = {"nodes": [{"id": "b", "x": 2}, {"id": "d"}, {"id": "c"}]}
    assert make_patch(old, new) == [
        {"op": "remove", "path": "/nodes/0"},
        {"op": "replace", "path": "/nodes/0/x", "value": 2},
        {"op": "add", "path": "/nodes/1", "value": {"id": "d"}},
    ]


def test_true_is_not_one() -> None:
    assert make_patch({"a": 1}, {"a": True}) == [{"op": "replace", "path": "/a", "value": True}]
