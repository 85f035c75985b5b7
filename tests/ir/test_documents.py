"""The first phase: text or parsed values become a plain document, or are refused with a location."""

from __future__ import annotations

import datetime
import decimal
import enum
import json
import time

import pytest

from ir import InvalidPipeline, parsePipelineIR
from ir.canonical import serialize
from ir.documents import read_document
from ir.limits import MAX_BYTES, MAX_DEPTH, MAX_VALUES
from tests.ir.cases import document


def codes_of(source, syntax="json"):
    with pytest.raises(InvalidPipeline) as caught:
        parsePipelineIR(source, syntax=syntax)
    return [d.code for d in caught.value.diagnostics]


def test_a_text_above_the_size_limit_is_refused():
    assert codes_of(" " * (MAX_BYTES + 1)) == ["document.too_large"]
    assert codes_of(b" " * (MAX_BYTES + 1)) == ["document.too_large"]


def test_more_values_than_the_limit_are_refused_in_text_and_in_parsed_json():
    many = {"nodes": [0] * (MAX_VALUES + 1)}
    assert codes_of(json.dumps(many)) == ["document.too_large"]
    assert codes_of(many) == ["document.too_large"]


def test_a_document_of_the_largest_size_is_checked_within_seconds():
    began = time.process_time()
    assert codes_of(json.dumps({"nodes": [{"kind": "x"}] * 1_000, "x": [0] * 20_000}))
    assert "document.too_many_faults" in codes_of(json.dumps({f"loadMode{i}": 0 for i in range(24_000)}))
    assert time.process_time() - began < 5


@pytest.mark.parametrize("nested", ["[" * 100_000, '{"a":' * 100_000, '{"a":[' * 50_000])
def test_absurd_nesting_is_refused_without_recursing(nested):
    assert codes_of(nested) == ["document.too_deep"]


def test_parsed_json_that_holds_itself_is_refused():
    loop: dict = {"kind": "pipeline"}
    loop["nodes"] = [loop]
    assert "document.too_deep" in codes_of(loop)


def test_absurd_nesting_of_toml_is_refused():
    assert codes_of("x = " + "[" * 5_000 + "]" * 5_000, "toml") == ["document.too_deep"]


def test_as_deep_as_allowed_is_read():
    deep = "[" * (MAX_DEPTH - 1) + "]" * (MAX_DEPTH - 1)
    assert read_document(f'{{"a": {deep}}}').faults == []


def test_a_byte_order_mark_is_dropped():
    text = serialize(document("orders"))
    assert parsePipelineIR("\ufeff" + text).document == parsePipelineIR(text.encode("utf-8-sig")).document


@pytest.mark.parametrize("encoding", ["utf-16", "latin-1"])
def test_bytes_that_are_not_utf8_are_refused(encoding):
    text = serialize(document("orders") | {"metadata": {"name": "café"}})
    assert codes_of(text.encode(encoding))[0].startswith("document.")


@pytest.mark.parametrize(
    ("value", "code"),
    [
        (datetime.date(2025, 1, 31), "value.not_json"),
        (datetime.datetime(2025, 1, 31, tzinfo=datetime.UTC), "value.not_json"),
        (datetime.time(1), "value.not_json"),
        (decimal.Decimal("0.1"), "number.not_exact"),
        (b"bytes", "value.not_json"),
        ((1, 2), "value.not_json"),
        ({1, 2}, "value.not_json"),
        (object(), "value.not_json"),
        (float("nan"), "number.not_finite"),
        (float("-inf"), "number.not_finite"),
        (2**53, "number.not_exact"),
        (10**5_000, "number.not_exact"),
        (None, "value.null"),
        ("a\x00b", "text.not_storable"),
        ("\udc80", "text.not_storable"),
    ],
    ids=lambda value: str(value)[:20] if not isinstance(value, int) else "integer",
)
def test_parsed_values_that_are_not_json_are_named(value, code):
    assert code in codes_of(document("orders") | {"metadata": {"name": value}})


def test_keys_that_are_not_text_are_named():
    assert "value.not_json" in codes_of(document("orders") | {7: 1})


def test_subclasses_of_plain_types_become_plain():
    class Word(str):
        pass

    class Count(enum.IntEnum):
        ONE = 1

    read = read_document({Word("a"): Word("b"), "c": Count.ONE, "d": True})
    assert [(type(k), type(v)) for k, v in read.value.items()] == [(str, str), (str, int), (str, bool)]


def test_a_line_counts_line_feeds_and_a_column_characters():
    with pytest.raises(InvalidPipeline) as caught:
        parsePipelineIR('{\r\n  "metadata": {"näme": 1}}')
    diagnostic = next(d for d in caught.value.diagnostics if d.code == "field.unknown")
    assert (diagnostic.line, diagnostic.column) == (2, 16)


def test_a_missing_field_is_placed_where_its_object_begins():
    text = (
        serialize(document("orders"))
        .replace('      "loadMode": "append"\n', "")
        .replace('"orders",\n    }', '"o"\n    }')
    )
    with pytest.raises(InvalidPipeline) as caught:
        parsePipelineIR(text)
    diagnostic = next(d for d in caught.value.diagnostics if d.code == "field.missing")
    assert text.splitlines()[diagnostic.line - 1].strip() == "{"


def test_what_is_empty_and_must_not_be_is_reported_by_its_name():
    derive = {"id": "derived", "kind": "transform", "inputs": ["source"], "ops": [{"op": "derive", "columns": {}}]}
    with pytest.raises(InvalidPipeline) as caught:
        parsePipelineIR({**document("orders"), "nodes": [derive]})
    diagnostic = next(d for d in caught.value.diagnostics if d.code == "value.length")
    assert (diagnostic.message, diagnostic.hint) == ("There are no columns yet.", "At least 1 is required.")


TOML = """kind = "pipeline"
version = "1.0"
id = "orders"

[[nodes]]
id = "files"
kind = "source"
connector = "local_fs"
[nodes.config]
path = '''in/
[[nodes]]
'''
pattern = {type = "glob", valeu = "*.csv"}
[nodes.config.format]
type = "csv"

[[nodes]]
id = "load"
kind = "target"
inputs = ["file"]
connector = "postgres"
connection = "warehouse"
schema = "public"
table = "orders"
loadMode = "Append"
"""


def test_faults_in_toml_have_the_lines_of_their_tables_and_keys():
    with pytest.raises(InvalidPipeline) as caught:
        parsePipelineIR(TOML, syntax="toml")
    assert [(str(d.path), d.line) for d in caught.value.diagnostics] == [
        ("/nodes/0", 5),
        ("/nodes/0/config/pattern/valeu", 13),
        ("/nodes/1/inputs/0", 20),
        ("/nodes/1/loadMode", 25),
    ]


@pytest.mark.parametrize(
    "text", ["a = 1\na = 2\n", "[a]\n[a]\n", "a.b = 1\n[a]\nb = 2\n", "[a]\nb = 1\n[a.b]\n", "a = {b = 1, b = 2}\n"]
)
def test_a_repeated_key_in_toml_is_refused_with_its_line(text):
    with pytest.raises(InvalidPipeline) as caught:
        parsePipelineIR(text, syntax="toml")
    (diagnostic,) = caught.value.diagnostics
    assert diagnostic.code in ("document.repeated_key", "document.syntax")
    assert diagnostic.line


@pytest.mark.parametrize("number", ["0e99999999999999999999", "1e-99999999999999999999", "1e99999999999999999999"])
def test_numbers_with_absurd_exponents_are_refused(number):
    assert "number.not_exact" in codes_of(f'{{"a": {number}}}')
    assert codes_of(f"a = {number}", "toml") == ["document.syntax"]


def test_a_toml_integer_of_thousands_of_digits_is_refused():
    assert codes_of("a = " + "9" * 5_000, "toml") == ["document.syntax"]
