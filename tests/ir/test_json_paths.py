"""Paths to one value of a JSON document."""

from __future__ import annotations

import pytest

from ir.json_paths import parse_json_path


@pytest.mark.parametrize(
    ("text", "steps"),
    [
        ("$", ()),
        ("$.a.b_1", ("a", "b_1")),
        ("$.größe[0][-1]", ("größe", 0, -1)),
        ("$['a b']", ("a b",)),
        ('$["a.b"].c', ("a.b", "c")),
        (r"$['it\'s \"']", ("it's \"",)),
        ("$['\"']", ('"',)),
        (r'$["\u00e9\n"]', ("é\n",)),
        ("$['']", ("",)),
    ],
)
def test_a_path_is_read_into_its_steps(text, steps):
    assert parse_json_path(text) == steps


@pytest.mark.parametrize(
    "text",
    [
        "",
        "a",
        "$a",
        "$.",
        "$.1",
        "$..a",
        "$.*",
        "$[*]",
        "$[01]",
        "$[-0]",
        "$[1:2]",
        "$['a",
        "$[?@.a]",
        r"$['\x']",
        "$ ",
    ],
)
def test_what_may_name_several_values_or_none_is_refused(text):
    with pytest.raises(ValueError, match=r"^(At?|The) "):
        parse_json_path(text)
