"""`jsonSchema`: values that match, values that do not, and schemas that must not take long."""

from __future__ import annotations

import json
import socket
from typing import Any

import pyarrow as pa
import pytest

from executors.rules import row_rule_mask
from ir.rules import JsonSchema


def follows(schema: dict[str, Any], *texts: Any) -> list[bool]:
    rule = JsonSchema.read({"type": "jsonSchema", "field": "x", "onFail": "skip", "schema": schema})
    return [not bad for bad in row_rule_mask(rule, pa.array(texts, pa.string())).to_pylist()]


@pytest.mark.parametrize(
    ("schema", "good", "bad"),
    [
        ({}, ["{}", "1", " null "], ["", "{", "NaN", "'a'", "{} {}"]),
        ({"type": "integer"}, ["1", "1.0", "-3e2", "123456789012345678901234567890"], ["1.5", "true", '"1"']),
        ({"multipleOf": 0.1}, ["0.3", "1.1", "1e30"], ["0.35", "1e999999999"]),
        ({"maximum": 0.3}, ["0.3", "0.30"], ["0.30000000000000000001"]),
        ({"const": 0.1}, ["0.1", "1e-1"], ["0.10000000000000000001"]),
        ({"pattern": "^a+$"}, ['"aa"', "1"], ['"b"', '"aa\\n"']),
        ({"maxLength": 1}, ['"😀"'], ['"ab"']),
        ({"uniqueItems": True}, ["[1, true, {}, []]"], ["[1, 1.0]", '[{"a": [1]}, {"a": [1.0]}]']),
        (
            {"patternProperties": {"^x": {"type": "string"}}, "properties": {"a": True}, "additionalProperties": False},
            ['{"a": 1, "xy": "z"}'],
            ['{"b": 1}', '{"x": 1}'],
        ),
        (
            {"properties": {"next": {"$ref": "#"}}, "required": ["v"]},
            ['{"v": 1, "next": {"v": 2}}'],
            ['{"v": 1, "next": {}}'],
        ),
        ({"$defs": {"n": {"$anchor": "n", "type": "number"}}, "items": {"$ref": "#n"}}, ["[1]"], ['["a"]']),
        (
            {"if": {"type": "object"}, "then": {"required": ["a"]}, "else": {"type": "array"}},
            ['{"a": 1}', "[]"],
            ["{}", "1"],
        ),
    ],
)
def test_json_that_follows_its_schema_passes(schema: dict[str, Any], good: list[str], bad: list[str]) -> None:
    assert follows(schema, *good, *bad, None) == [True] * len(good) + [False] * len(bad) + [True]


BOMB = {
    "$defs": {str(n): {"allOf": [{"$ref": f"#/$defs/{n + 1}"}] * 2} for n in range(40)} | {"40": {}},
    "$ref": "#/$defs/0",
}


@pytest.mark.parametrize(
    ("schema", "text"),
    [
        (BOMB, "1"),
        ({"pattern": "^(a|a)*$"}, json.dumps("a" * 5000 + "b")),
        ({"patternProperties": {"^(a|a)*$": False}, "additionalProperties": False}, json.dumps({"a" * 5000 + "b": 1})),
        ({"uniqueItems": True}, json.dumps([{"a": n // 2} for n in range(20_000)])),
        ({"properties": {"a": {"$ref": "#"}}, "items": {"$ref": "#"}}, "[" * 20_000 + "]" * 20_000),
        ({}, json.dumps("x" * 1_000_001)),
        ({}, "1" * 5000),
    ],
)
def test_what_would_take_long_does_not_pass(schema: dict[str, Any], text: str) -> None:
    assert follows(schema, text) == [False]


def test_nothing_is_fetched(monkeypatch: pytest.MonkeyPatch) -> None:
    """A schema with a remote reference is not loaded from the network, however it was saved."""

    def refuse(*args: Any, **more: Any) -> Any:
        raise AssertionError("a connection was tried")

    monkeypatch.setattr(socket, "create_connection", refuse)
    monkeypatch.setattr(socket, "getaddrinfo", refuse)
    with pytest.raises(Exception, match="example"):
        follows({"$ref": "http://example.com/schema.json"}, "1")


def test_typed_values_are_seen_as_their_text() -> None:
    rule = JsonSchema.read({"type": "jsonSchema", "field": "x", "onFail": "skip", "schema": {"minimum": 2}})
    assert row_rule_mask(rule, pa.array([1, 2])).to_pylist() == [True, False]
