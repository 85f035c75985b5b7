"""The JSON Schema and the types accept the same documents."""

from __future__ import annotations

import json
import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from jsonschema import Draft202012Validator

from ir import InvalidPipeline, parsePipelineIR
from ir.canonical import serialize
from ir.codes import CODES
from ir.documents import read_document
from ir.json_schema import validator_for
from ir.schema import schema_document
from tests.ir.cases import document, list_cases
from tests.ir.documents_of import pipelines
from tests.ir.mutations import mutate
from tests.ir.test_parse_properties import ORIGINALS
from tests.properties import examples

SCHEMA = schema_document()
VALIDATOR = validator_for(SCHEMA)
STRUCTURE = {
    "field.unknown",
    "field.missing",
    "value.type",
    "value.not_allowed",
    "value.malformed",
    "value.length",
    "value.out_of_range",
}


def types_accept(value) -> bool:
    """Return whether the structure is valid, without the checks of meaning."""
    try:
        parsePipelineIR(value)
    except InvalidPipeline as error:
        return not {d.code for d in error.diagnostics} & STRUCTURE
    return True


def is_json(value) -> bool:
    """Return whether the first phase accepts the document: exact numbers, no nulls, text that can be stored."""
    try:
        return not read_document(value).faults
    except InvalidPipeline:
        return False


def test_it_is_a_schema_of_its_draft():
    Draft202012Validator.check_schema(SCHEMA)


@pytest.mark.parametrize("case", list_cases("valid"), ids=lambda case: case.name)
def test_the_schema_takes_the_valid_documents(case):
    assert list(VALIDATOR.iter_errors(json.loads(case.text))) == []


# Structural errors that no schema can express, because they depend on the meaning of a value.
BEYOND = {"value.malformed--column-format", "value.out_of_range--interval"}


@pytest.mark.parametrize(
    "case",
    [c for c in list_cases("invalid") if c.code in STRUCTURE and c.name not in BEYOND and c.syntax == "json"],
    ids=lambda case: case.name,
)
def test_the_schema_refuses_what_is_wrong_in_structure(case):
    assert not VALIDATOR.is_valid(json.loads(case.text))


@given(pipelines())
@settings(max_examples=examples(50), deadline=None)
def test_the_schema_takes_every_generated_document(made):
    assert list(VALIDATOR.iter_errors(made)) == []


@given(st.integers(0, 2**32), st.sampled_from(ORIGINALS))
@settings(max_examples=examples(300), deadline=None)
def test_types_and_schema_accept_the_same_damaged_documents(seed, name):
    damaged = mutate(serialize(document(name)), random.Random(seed))
    if isinstance(damaged, dict) and is_json(damaged) and not _means_something_wrong(damaged):
        assert types_accept(damaged) == VALIDATOR.is_valid(damaged)


def _means_something_wrong(value) -> bool:
    """Return whether a diagnostic with a structural code is from the third phase, which the schema does not include, or
    whether a text is empty, which the parser reports by a code of its own, also where the schema lists the values."""
    try:
        parsePipelineIR(value)
    except InvalidPipeline as error:
        if "value.empty" in {d.code for d in error.diagnostics}:
            return True
        messages = " ".join(d.message for d in error.diagnostics)
        return "strptime" in messages or "shortest interval" in messages or "path is longer" in messages
    return False


@pytest.mark.parametrize("trailing", ["\n", "\r\n", "\u2028"])
def test_an_id_with_a_line_break_behind_it_is_refused_by_both(trailing):
    made = document("orders") | {"id": "orders" + trailing}
    assert not types_accept(made)
    assert not VALIDATOR.is_valid(made)


def test_a_whole_number_written_with_a_fraction_is_no_integer_for_either():
    made = document("orders") | {"errorHandling": {"retry": {"maxAttempts": 1.0}}}
    assert not types_accept(made)
    assert not VALIDATOR.is_valid(made)


def test_null_is_in_no_type_of_the_schema():
    assert '"type": "null"' not in json.dumps(SCHEMA)
    assert ": null" not in json.dumps(SCHEMA)


def test_every_structural_code_is_one_of_the_codes():
    assert set(CODES) >= STRUCTURE


def test_the_schema_describes_the_settings_of_a_connector():
    made = document("orders")
    made["nodes"][0]["config"]["ordering"] = "random"
    (error,) = VALIDATOR.iter_errors(made)
    assert not VALIDATOR.is_valid(made)
    assert error.absolute_path[0] == "nodes"
