"""Manifests, documents and their texts are converted to each other without loss; edits do not change other fields."""

from __future__ import annotations

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from jsonschema import Draft202012Validator

from ir.documents import read_document
from ir.json_diff import are_equal, make_patch
from ir.json_edits import PatchRefused
from ir.json_schema import validator_for
from ir.manifests.diagnostics import InvalidProject
from ir.manifests.edits import edit_manifest
from ir.manifests.plan import plan_schema
from ir.manifests.reading import read_project
from ir.manifests.schema import manifest_schema
from ir.manifests.texts import write_manifest
from tests.ir.documents_of import pipelines
from tests.ir.manifests.projects import FLOW_TOML, short_manifests
from tests.properties import examples

SYNTAXES = st.sampled_from(["json", "toml"])
PROJECT = '[project]\nname = "p"\n'
VALIDATOR = validator_for(manifest_schema())


def documents_of(text: str, syntax: str) -> list[dict]:
    project = read_project({"flow.toml": PROJECT, f"pipelines/a.{syntax}": text})
    return [pipeline.document for pipeline in project.pipelines.values()]


@given(pipelines() | short_manifests(), SYNTAXES, SYNTAXES)
@settings(max_examples=examples(100), deadline=None)
def test_a_manifest_gives_documents_that_are_manifests_of_themselves(made, first, second) -> None:
    once = documents_of(write_manifest(made, first), first)
    again = [found for document in once for found in documents_of(write_manifest(document, second), second)]
    assert are_equal(again, once)


@given(pipelines() | short_manifests(), SYNTAXES, SYNTAXES)
@settings(max_examples=examples(50), deadline=None)
def test_a_manifest_survives_a_change_of_syntax(made, first, second) -> None:
    there = read_document(write_manifest(made, first), first).value
    assert are_equal(read_document(write_manifest(there, second), second).value, made)


@given(pipelines(), pipelines(), SYNTAXES)
@settings(max_examples=examples(50), deadline=None)
def test_an_edit_of_a_text_means_what_the_patch_means(old, new, syntax) -> None:
    edited = edit_manifest(write_manifest(old, syntax), syntax, make_patch(old, new))
    assert are_equal(read_document(edited, syntax).value, new)


@given(pipelines() | short_manifests())
@settings(max_examples=examples(50), deadline=None)
def test_the_schema_takes_every_manifest(made) -> None:
    assert list(VALIDATOR.iter_errors(made)) == []


def test_the_schema_takes_a_project_file_and_refuses_what_the_types_refuse() -> None:
    value = read_document(FLOW_TOML, "toml").value
    assert list(VALIDATOR.iter_errors(value)) == []
    value["connections"]["shop"]["password"] = "in text"
    value["pipeline"][0]["tabels"] = []
    assert len(list(VALIDATOR.iter_errors(value))) == 2


@pytest.mark.parametrize("schema", [manifest_schema, plan_schema])
def test_it_is_a_schema_of_its_draft(schema) -> None:
    Draft202012Validator.check_schema(schema())


def test_an_edit_of_toml_keeps_comments_order_and_format() -> None:
    patch = [
        {"op": "replace", "path": "/pipeline/0/schedule", "value": "every 1h"},
        {"op": "remove", "path": "/pipeline/0/tables/1"},
        {"op": "add", "path": "/connections/shop/port", "value": 5433},
        {"op": "test", "path": "/project/name", "value": "shop"},
    ]
    edited = edit_manifest(FLOW_TOML, "toml", patch)
    before, after = FLOW_TOML.splitlines(), edited.splitlines()
    assert [line for line in after if line not in before] == [
        "port = 5433",
        'tables = ["orders"] # each becomes a pipeline',
        'schedule = "every 1h"',
    ]
    assert [line for line in before if line not in after] == [
        'tables = ["orders", "customers"] # each becomes a pipeline',
        'schedule = "every 15m"',
    ]


def test_an_edit_of_json_keeps_everything_else_byte_for_byte() -> None:
    text = '{ "b":1,\n\t"a" : 1.50 }\n'
    assert edit_manifest(text, "json", [{"op": "replace", "path": "/b", "value": 2}]) == '{ "b":2,\n\t"a" : 1.50 }\n'


@pytest.mark.parametrize("path", ["/nowhere/x", "/pipeline/7"])
def test_a_patch_that_does_not_fit_is_refused(path) -> None:
    with pytest.raises(PatchRefused):
        edit_manifest(FLOW_TOML, "toml", [{"op": "replace", "path": path, "value": 1}])


@given(st.text(max_size=40) | st.recursive(st.none() | st.text(max_size=3), st.lists, max_leaves=4).map(json.dumps))
def test_any_text_gives_diagnostics_with_places(text) -> None:
    for name in ("flow.toml", "pipelines/a.toml", "pipelines/a.json"):
        with pytest.raises(InvalidProject) as caught:
            read_project({"flow.toml": PROJECT, name: text})
        assert all(d.diagnostic.line and d.diagnostic.column for d in caught.value.diagnostics)
