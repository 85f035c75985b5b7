"""The JSON reader accepts the same JSON as Python's, except where a document would change when it is stored."""

from __future__ import annotations

import json
import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ir.json_text import JsonReader, JsonSyntaxError, is_exact
from ir.limits import MAX_SAFE_INTEGER
from tests.ir.cases import document
from tests.ir.documents_of import json_values
from tests.ir.mutations import mutate_text
from tests.properties import examples


@given(json_values, st.sampled_from([None, 0, 2]), st.booleans())
@settings(max_examples=examples(200), deadline=None)
def test_it_reads_what_python_writes(value, indent, escape):
    reader = JsonReader(json.dumps(value, indent=indent, ensure_ascii=escape))
    assert reader.read() == value
    assert reader.faults == []


def test_it_refuses_and_takes_the_same_damaged_texts_as_python():
    chance = random.Random(7)
    original = json.dumps(document("minimal"))
    disagreements = []
    for _ in range(3_000):
        text = mutate_text(original, chance)
        try:
            expected = json.loads(text)
        except ValueError:
            expected = ValueError
        reader = JsonReader(text)
        try:
            found = reader.read()
        except JsonSyntaxError:
            found = ValueError
        if found != expected and not reader.faults:
            disagreements.append(text)
    assert disagreements == []


@pytest.mark.parametrize(
    "text",
    [
        "",
        " ",
        "{",
        "[1,]",
        '{"a":1,}',
        "{,}",
        "[,1]",
        "01",
        "+1",
        "1.",
        ".5",
        "1e",
        "-",
        "tru",
        "nan",
        "'a'",
        '"a',
        '"\t"',
        '"\\x"',
        '"\\u12"',
        "{1:2}",
        '{"a" 1}',
        '{"a":1 "b":2}',
        "[1 2]",
        "1 2",
        "\u00a01",
        "[1]]",
        "/*x*/1",
        "undefined",
    ],
)
def test_a_text_that_is_no_json_is_refused_at_a_place(text):
    with pytest.raises(JsonSyntaxError) as caught:
        JsonReader(text).read()
    assert 0 <= caught.value.offset <= len(text)


def test_a_repeated_key_is_found_at_any_depth():
    reader = JsonReader('{"a": [{"b": 1, "c": 2, "b": 3}]}')
    reader.read()
    assert [(str(d.path), d.code) for d in reader.faults] == [("/a/0/b", "document.repeated_key")]


def test_keys_that_are_equal_only_once_unescaped_are_repeated():
    reader = JsonReader('{"ab": 1, "\\u0061b": 2}')
    reader.read()
    assert [d.code for d in reader.faults] == ["document.repeated_key"]


@pytest.mark.parametrize(
    "number",
    [
        "0",
        "-0",
        "1",
        "0.1",
        "0.10",
        "-1.5e3",
        "1E+2",
        str(MAX_SAFE_INTEGER),
        f"-{MAX_SAFE_INTEGER}",
        "1e17",
        "123456.789",
        "0.30000000000000004",
        "5e-324",
        "1.7976931348623157e308",
    ],
)
def test_a_number_that_a_double_holds_is_exact(number):
    assert is_exact(number)


@pytest.mark.parametrize(
    "number",
    [
        str(MAX_SAFE_INTEGER + 1),
        f"-{MAX_SAFE_INTEGER + 1}",
        "9007199254740993.0",
        "0.12345678901234567890",
        "1e400",
        "-1e400",
        "1e-400",
        "1.00000000000000000001",
        "9" * 401,
        "0." + "0" * 500 + "1",
        "1e99999999999",
        "1e-99999999999999999999",
    ],
)
def test_a_number_that_a_double_would_change_is_not_exact(number):
    assert not is_exact(number)


@given(st.floats(allow_nan=False, allow_infinity=False))
def test_every_double_as_python_writes_it_is_exact(number):
    assert is_exact(repr(number))
