"""The settings of a connector with only a JSON Schema have the same errors as those of built-in connectors."""

from __future__ import annotations

import pytest

from ir.config_schema import check_config
from ir.json_schema import validator_for
from ir.pointers import ROOT

SCHEMA = {
    "type": "object",
    "required": ["bucket", "auth"],
    "additionalProperties": False,
    "properties": {
        "bucket": {"type": "string", "minLength": 3, "maxLength": 8, "pattern": "^[a-z]+$"},
        "parts": {"type": "integer", "minimum": 1, "exclusiveMaximum": 9},
        "ratio": {"type": ["number", "boolean"]},
        "region": {"enum": ["eu", "us"]},
        "keys": {"type": "array", "minItems": 1, "maxItems": 2, "uniqueItems": True, "items": {"type": "string"}},
        "auth": {"oneOf": [{"$ref": "#/$defs/token"}, {"$ref": "#/$defs/role"}]},
        "one": {"anyOf": [{"type": "string"}, {"type": "array", "items": {"type": "string"}}]},
    },
    "$defs": {
        "token": {
            "type": "object",
            "required": ["kind", "token"],
            "properties": {"kind": {"const": "token"}, "token": {"type": "string"}},
            "additionalProperties": False,
        },
        "role": {
            "type": "object",
            "required": ["kind"],
            "properties": {"kind": {"const": "role"}, "name": {"type": "string"}},
            "additionalProperties": False,
        },
    },
}
GOOD = {"bucket": "abc", "auth": {"kind": "role"}}


def reported(**settings) -> list[tuple[str, str]]:
    at = ROOT / "nodes" / 0 / "config"
    found = check_config(validator_for(SCHEMA), {k: v for k, v in (GOOD | settings).items() if v is not ...}, at)
    return [(str(d.path).removeprefix("/nodes/0/config"), d.code) for d in found]


def test_good_settings_are_fine():
    assert reported() == []
    assert reported(parts=3, ratio=True, region="eu", keys=["a"], one=["x"], auth={"kind": "token", "token": "t"}) == []


@pytest.mark.parametrize(
    ("settings", "expected"),
    [
        ({"bucket": ...}, ("/bucket", "field.missing")),
        ({"bukcet": "x"}, ("/bukcet", "field.unknown")),
        ({"bucket": 7}, ("/bucket", "value.type")),
        ({"bucket": "ab"}, ("/bucket", "value.length")),
        ({"bucket": "abcdefghi"}, ("/bucket", "value.length")),
        ({"bucket": "ABC"}, ("/bucket", "value.malformed")),
        ({"parts": 1.0}, ("/parts", "value.type")),
        ({"parts": True}, ("/parts", "value.type")),
        ({"parts": 0}, ("/parts", "value.out_of_range")),
        ({"parts": 9}, ("/parts", "value.out_of_range")),
        ({"ratio": "x"}, ("/ratio", "value.type")),
        ({"region": "EU"}, ("/region", "value.not_allowed")),
        ({"keys": []}, ("/keys", "value.length")),
        ({"keys": ["a", "a"]}, ("/keys", "value.malformed")),
        ({"keys": [1]}, ("/keys/0", "value.type")),
        ({"auth": {"kind": "rolle"}}, ("/auth/kind", "value.not_allowed")),
        ({"auth": {}}, ("/auth/kind", "field.missing")),
        ({"auth": "role"}, ("/auth", "value.type")),
        ({"auth": {"kind": "role", "nmae": "x"}}, ("/auth/nmae", "field.unknown")),
        ({"auth": {"kind": "token", "token": 7}}, ("/auth/token", "value.type")),
        ({"one": 7}, ("/one", "value.type")),
        ({"one": [7]}, ("/one/0", "value.type")),
    ],
)
def test_each_fault_is_reported_at_its_place(settings, expected):
    assert reported(**settings) == [expected]


def test_all_faults_are_reported_at_once():
    assert len(reported(bucket=7, parts=0, region="x", auth={}, extra=1)) == 5


def test_a_misspelt_field_is_guessed_and_can_be_fixed():
    (diagnostic,) = check_config(validator_for(SCHEMA), GOOD | {"regoin": "eu"}, ROOT)
    assert "Did you mean region?" in diagnostic.message
    assert diagnostic.fixes[0] == [{"op": "move", "from": "/regoin", "path": "/region"}]
