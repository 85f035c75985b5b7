"""Every case has exactly the expected diagnostics."""

from __future__ import annotations

import json

import jsonpatch
import jsonpointer
import pytest

from ir import InvalidPipeline, parsePipelineIR
from ir.canonical import document_hash, serialize
from tests.ir.cases import FOLDER, Case, document, list_cases

COMPARED = ("path", "code", "severity", "line", "column")


def diagnostics_of(case: Case):
    try:
        return case.parse().warnings
    except InvalidPipeline as error:
        return error.diagnostics


@pytest.mark.parametrize("case", list_cases("invalid"), ids=lambda case: case.name)
def test_an_invalid_document_is_refused_with_all_its_faults_and_their_places(case):
    with pytest.raises(InvalidPipeline) as caught:
        case.parse()
    reported = [{k: v for k, v in d.to_json().items() if k in COMPARED} for d in caught.value.diagnostics]
    assert reported == case.expected


@pytest.mark.parametrize("case", list_cases("valid"), ids=lambda case: case.name)
def test_a_valid_document_is_read_with_its_warnings(case):
    parsed = case.parse()
    assert [{k: v for k, v in d.to_json().items() if k in COMPARED} for d in parsed.warnings] == case.expected


@pytest.mark.parametrize("case", [*list_cases("invalid"), *list_cases("valid")], ids=lambda case: case.name)
def test_every_diagnostic_says_what_happened_and_what_to_do(case):
    for diagnostic in diagnostics_of(case):
        assert diagnostic.message.endswith((".", "?"))
        assert diagnostic.hint


@pytest.mark.parametrize("case", [*list_cases("invalid"), *list_cases("valid")], ids=lambda case: case.name)
def test_every_fix_is_a_patch_that_applies_and_fixes_its_fault(case):
    fixes = [(d, fix) for d in diagnostics_of(case) for fix in d.fixes]
    for diagnostic, fix in fixes if case.syntax == "json" else []:
        fixed = jsonpatch.apply_patch(_loose(case.text), fix)
        try:
            left = parsePipelineIR(fixed, destinations=case.destinations).warnings
        except InvalidPipeline as error:
            left = error.diagnostics
        assert (diagnostic.path, diagnostic.code) not in {(d.path, d.code) for d in left}


def _loose(text: bytes):
    return json.loads(text)


@pytest.mark.parametrize("path", sorted(FOLDER.glob("valid/*.toml")), ids=lambda path: path.stem)
def test_toml_and_json_forms_give_the_same_spec_and_hash(path):
    toml = parsePipelineIR(path.read_bytes(), syntax="toml")
    same = parsePipelineIR(document(path.stem))
    assert toml.pipeline == same.pipeline
    assert document_hash(toml.document) == document_hash(same.document)


@pytest.mark.parametrize("case", list_cases("valid"), ids=lambda case: case.name)
def test_text_and_parsed_json_give_the_same_pipeline(case):
    parsed = parsePipelineIR(case.text, streaming=case.streaming)
    same = parsePipelineIR(json.loads(case.text), streaming=case.streaming)
    assert same.pipeline == parsed.pipeline
    assert parsed.document == json.loads(case.text) == parsed.pipeline.to_document()
    assert serialize(parsed.document).encode() == case.text


def test_a_place_points_at_the_text_of_its_value():
    text = serialize(document("orders")).replace('"skip"', '"skipp"')
    with pytest.raises(InvalidPipeline) as caught:
        parsePipelineIR(text)
    (diagnostic,) = caught.value.diagnostics
    assert text.splitlines()[diagnostic.line - 1][diagnostic.column - 1 :].startswith('"onFail": "skipp"')
    assert jsonpointer.resolve_pointer(json.loads(text), str(diagnostic.path)) == "skipp"
