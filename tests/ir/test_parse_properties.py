"""Properties of all documents: valid ones survive the round trip, damaged ones return diagnostics and no other
errors."""

from __future__ import annotations

import copy
import json
import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ir import InvalidPipeline, parsePipelineIR
from ir.canonical import document_hash, serialize
from tests.ir.cases import document
from tests.ir.documents_of import json_values, pipelines
from tests.ir.mutations import mutate, mutate_text
from tests.properties import examples

ORIGINALS = ("everything", "nyc-flights", *["orders", "minimal"] * 3)


@given(pipelines())
@settings(max_examples=examples(100), deadline=None)
def test_what_parses_also_serialises_and_parses_to_the_same(made):
    once = parsePipelineIR(made)
    again = parsePipelineIR(serialize(once.pipeline.to_document()))
    assert again.pipeline == once.pipeline
    assert again.document == once.document == made
    assert document_hash(again.document) == document_hash(made)


@given(pipelines())
@settings(max_examples=examples(50), deadline=None)
def test_the_callers_document_is_left_alone_and_not_shared(made):
    before = copy.deepcopy(made)
    parsed = parsePipelineIR(made)
    assert made == before
    made["nodes"].clear()
    assert parsed.document == before


@given(json_values | st.none() | st.dictionaries(st.text(), json_values))
@settings(max_examples=examples(100), deadline=None)
def test_any_value_gives_diagnostics(value):
    with pytest.raises(InvalidPipeline):
        parsePipelineIR(value if isinstance(value, dict) else json.dumps(value))


def is_read(damaged: object) -> bool:
    """Parse a document. The test fails if another error than diagnostics is raised. A parsed document must be
    consistent."""
    try:
        parsed = parsePipelineIR(damaged if isinstance(damaged, str | dict) else {"x": damaged})
    except InvalidPipeline as error:
        json.dumps(error.to_json())
        return False
    assert parsePipelineIR(serialize(parsed.document)).pipeline == parsed.pipeline
    return True


def test_damaged_documents_only_ever_give_diagnostics():
    chance, count = random.Random(20250131), examples(10_000)
    originals = [serialize(document(name)) for name in ORIGINALS]
    read = 0
    for i in range(count):
        damage = mutate_text if i % 3 == 0 else mutate
        read += is_read(damage(originals[i % len(originals)], chance))
    assert count / 200 < read < count / 5, "the damage is too small or too great to be worth anything"


def test_a_damaged_node_does_not_hide_the_faults_of_the_others():
    damaged = document("orders")
    damaged["nodes"][1]["ops"][0]["op"] = "trimm"
    damaged["nodes"][3] |= {"loadMode": "upsert", "bogus": 1}
    with pytest.raises(InvalidPipeline) as caught:
        parsePipelineIR(damaged)
    assert {d.code for d in caught.value.diagnostics} == {"value.not_allowed", "upsert.key_required", "field.unknown"}


def test_a_misspelt_field_is_not_reported_twice():
    damaged = document("orders")
    damaged["nodes"][3] |= {"loadMode": "upsert", "upsert_key": ["id"]}
    with pytest.raises(InvalidPipeline) as caught:
        parsePipelineIR(damaged)
    assert [d.code for d in caught.value.diagnostics] == ["field.unknown"]


def test_an_invalid_pipeline_survives_pickling():
    import pickle

    with pytest.raises(InvalidPipeline) as caught:
        parsePipelineIR({})
    again = pickle.loads(pickle.dumps(caught.value))
    assert again.diagnostics == caught.value.diagnostics
    assert str(again) == str(caught.value)
