"""Each part of a TOML text has the correct position."""

from __future__ import annotations

import tomllib
from typing import Any

import tomlkit
from hypothesis import given

from ir.pointers import ROOT, Pointer
from ir.toml_positions import find_offsets
from tests.ir.documents_of import pipelines

TEXT = '''# a comment with [brackets] = "signs"
title = "x # no comment"
"quoted \\u00e9 key".inner = { a = 1, b = [ "]", { c = 2 } ] }

[table]
long = """
[not.a.table]
key = 1
"""

[[items]]
n = [
  1, # one
  { deep = true },
]
[items.sub]
last = 1979-05-27T07:32:00Z
[[items]]
'''


def at(text: str, *path: str | int) -> str:
    return text[find_offsets(text)[Pointer(path)] :]


def test_keys_and_items_are_found() -> None:
    assert at(TEXT, "title").startswith("title =")
    assert at(TEXT, "quoted é key", "inner", "b", 1, "c").startswith("c = 2")
    assert at(TEXT, "quoted é key", "inner", "b", 0).startswith('"]"')
    assert at(TEXT, "table", "long").startswith('long = """')
    assert at(TEXT, "items", 0, "n", 1, "deep").startswith("deep = true")
    assert at(TEXT, "items", 0, "sub", "last").startswith("last =")
    assert at(TEXT, "items", 1) == "[[items]]\n"


def test_a_table_in_a_long_text_is_none() -> None:
    assert Pointer(("not",)) not in find_offsets(TEXT)


@given(pipelines())
def test_every_part_of_a_document_has_a_position(made) -> None:
    text = tomlkit.dumps(made)
    offsets = find_offsets(text)
    for pointer in pointers_of(tomllib.loads(text), ROOT):
        assert pointer in offsets, pointer


def pointers_of(value: Any, pointer: Pointer) -> list[Pointer]:
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    return [pointer, *(inner for key, item in items for inner in pointers_of(item, pointer / key))]


def test_quotes_inside_a_quoted_key_are_part_of_the_key() -> None:
    assert at("""'"a"' = 1\n"b'" = 2\n""", "b'") == '"b\'" = 2\n'
    assert find_offsets("""'"a"' = 1""")[Pointer(('"a"',))] == 0
