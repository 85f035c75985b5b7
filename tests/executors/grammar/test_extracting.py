"""Extracted values are those of a simple reference implementation."""

from __future__ import annotations

import json
import re
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from executors.grammar.extracting import check_objects, find_match, find_values, read_documents, shape_of

texts = st.text(st.sampled_from("ab1é€𝄞 -\n\"'\\"), max_size=8)
numbers = st.decimals(allow_nan=False, allow_infinity=False, places=3, min_value=-(10**20), max_value=10**20)
values = st.recursive(
    st.none() | st.booleans() | numbers | texts,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(["a", "b", "é c"]), inner, max_size=3),
    max_leaves=8,
)
paths = st.lists(st.sampled_from(["a", "b", "é c", 0, 1, -1, -2]), max_size=3)


def written(value: Any) -> str:
    """Return the JSON of a value whose numbers are Decimals."""
    if isinstance(value, dict):
        return "{" + ",".join(f"{json.dumps(key)}:{written(of)}" for key, of in value.items()) + "}"
    if isinstance(value, list):
        return "[" + " , ".join(map(written, value)) + "]"
    return str(value) if isinstance(value, Decimal) else json.dumps(value)


def at(value: Any, path: list[Any]) -> Any:
    """Return the value at a path. Raises LookupError if there is none."""
    for step in path:
        if isinstance(step, str) != isinstance(value, dict) or not isinstance(value, dict | list):
            raise LookupError
        value = value[step]
    return value


def read(text: str) -> Any:
    return json.loads(text, parse_float=Decimal, parse_int=Decimal)


@settings(max_examples=200)
@given(values, paths)
def test_a_value_of_json_is_found_exactly(value, path) -> None:
    documents = read_documents(pa.array([written(value)]), empty_as_null=False)
    as_json, plain = (find_values(documents, path, as_json=json) for json in (True, False))
    try:
        found = at(value, path)
    except LookupError:
        assert as_json.missing.to_pylist() == plain.missing.to_pylist() == [True]
        return
    assert as_json.missing.to_pylist() == as_json.unreadable.to_pylist() == as_json.nested.to_pylist() == [False]
    (text,) = as_json.values.to_pylist()
    assert (None if text is None else read(text)) == found
    assert plain.nested.to_pylist() == [isinstance(found, dict | list)]
    if isinstance(found, str | Decimal):
        assert plain.values.to_pylist() == [str(found)]


@pytest.mark.parametrize(
    "text",
    ["", "{", "nul", "NaN", '{"a": 1} x', "{'a': 1}", '{"a": 1, "a": 1}', '"\\ud800"', "[" * 5000 + "]" * 5000],
    ids=lambda text: text[:10],
)
def test_what_is_not_json_is_unreadable(text: str) -> None:
    found = find_values(read_documents(pa.array([text]), empty_as_null=False), (), as_json=True)
    assert found.unreadable.to_pylist() == [True]
    assert found.missing.to_pylist() == [False]


def test_broken_bytes_are_unreadable() -> None:
    broken = pa.Array.from_buffers(pa.string(), 1, pa.array([b'"\xff"']).buffers())
    assert find_values(read_documents(broken, empty_as_null=True), (), as_json=True).unreadable.to_pylist() == [True]
    assert find_match(broken, "x", 0).unreadable.to_pylist() == [True]


def test_null_and_an_empty_text_that_stands_for_it_have_no_value() -> None:
    found = find_values(read_documents(pa.array([None, ""]), empty_as_null=True), (), as_json=True)
    assert found.missing.to_pylist() == [True, True]


@settings(max_examples=100)
@given(
    st.lists(st.none() | texts, max_size=5),
    st.sampled_from(["(a+)(b)?", "(é|€)", "^(.)", r"(\d) ?(-)", "()", "a(𝄞*)"]),
    st.integers(0, 1),
)
def test_a_match_is_that_of_pythons_own_expressions(given_texts, pattern, group) -> None:
    found = find_match(pa.array(given_texts, pa.string()), pattern, group)
    matches = [None if text is None else re.search(pattern, text) for text in given_texts]
    assert found.values.to_pylist() == [None if match is None else match[group] for match in matches]
    assert found.missing.to_pylist() == [match is None or match[group] is None for match in matches]


def test_a_group_that_takes_no_part_is_missing() -> None:
    found = find_match(pa.array(["a", "ab"]), "a(b)?", 1)
    assert (found.values.to_pylist(), found.missing.to_pylist()) == ([None, "b"], [True, False])


def test_numbers_are_searched_in_their_canonical_text() -> None:
    assert find_match(pa.array([Decimal("12.50")]), r"\.(\d+)", 1).values.to_pylist() == ["50"]


@pytest.mark.parametrize(
    ("document", "unreadable", "unknown"),
    [
        ('{"a": 1, "b": {"c": 2}}', False, False),
        ('{"b": null}', False, False),
        ("{}", False, False),
        ("null", False, False),
        (None, False, False),
        ('{"x": 1}', False, True),
        ('{"b": {"c": 1, "x": null}}', False, True),
        ('{"a": {"x": 1}}', False, False),
        ('{"b": 7}', True, False),
        ('{"b": [], "x": 1}', True, False),
        ("[]", True, False),
        ('"a"', True, False),
        ("{", True, False),
    ],
)
def test_objects_are_compared_with_the_members_that_are_named(document, unreadable, unknown) -> None:
    documents = read_documents(pa.array([document], pa.string()), empty_as_null=True)
    checked = check_objects(documents, shape_of([("a",), ("a", "below"), ("b", "c")]))
    assert (checked.unreadable.to_pylist(), checked.unknown.to_pylist()) == ([unreadable], [unknown])
