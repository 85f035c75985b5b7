"""The canonical form and the hash of a document."""

from __future__ import annotations

import json

from ir import parsePipelineIR
from ir.canonical import canonical, document_hash, serialize
from tests.ir.cases import document


def _reversed(value):
    if isinstance(value, dict):
        return {key: _reversed(item) for key, item in reversed(value.items())}
    return [_reversed(item) for item in value] if isinstance(value, list) else value


def test_the_order_of_keys_and_spacing_do_not_change_the_hash():
    made = document("everything")
    assert document_hash(_reversed(made)) == document_hash(made)
    assert document_hash(json.loads(json.dumps(made, indent=7))) == document_hash(made)


def test_any_value_changes_the_hash():
    made = document("orders")
    before = document_hash(made)
    made["nodes"][2]["rowLevel"][0]["onFail"] = "warn"
    assert document_hash(made) != before


def test_the_canonical_form_is_that_of_rfc_8785():
    assert canonical({"b": [1.0, 1e21, 0.1], "a": "é\n", "": True}) == '{"":true,"a":"é\\n","b":[1,1e+21,0.1]}'.encode()


def test_a_document_keeps_its_order_and_its_letters_when_written():
    text = serialize({"kind": "pipeline", "b": "é", "a": []})
    assert text == '{\n  "kind": "pipeline",\n  "b": "é",\n  "a": []\n}\n'


def test_what_was_not_written_is_not_added():
    made = document("minimal")
    assert parsePipelineIR(made).pipeline.to_document() == made
