from __future__ import annotations

from typing import Any

import pytest

from executors.singer.schemas import fields_of, type_of


@pytest.mark.parametrize(
    ("schema", "expected"),
    [
        ({"type": "string"}, "string"),
        ({"type": ["null", "string"]}, "string"),
        ({"type": "null"}, "string"),
        ({}, "string"),
        (True, "string"),
        ({"type": "boolean"}, "boolean"),
        ({"type": ["null", "integer"]}, "bigint"),
        ({"type": "integer", "minimum": 0, "maximum": 18446744073709551615}, "pg:numeric"),
        ({"type": "number"}, "pg:numeric"),
        ({"type": "number", "multipleOf": 0.01}, "pg:numeric"),
        ({"type": "number", "multipleOf": 1e-05, "minimum": -(10**7), "maximum": 10**7}, "decimal(13,5)"),
        (
            {"type": "number", "multipleOf": 0.01, "exclusiveMinimum": True, "minimum": -100, "maximum": 99},
            "decimal(5,2)",
        ),
        ({"type": ["integer", "number"]}, "pg:numeric"),
        ({"type": "string", "format": "date-time"}, "timestamptz"),
        ({"type": "string", "format": "date"}, "date"),
        ({"type": "string", "format": "time"}, "time"),
        ({"type": "string", "format": "uuid"}, "uuid"),
        ({"type": "string", "format": "email"}, "string"),
        ({"type": "string", "format": "singer.decimal"}, "pg:numeric"),
        ({"type": "string", "format": "singer.decimal", "precision": 12, "scale": 2}, "decimal(12,2)"),
        ({"type": ["object", "null"], "properties": {}}, "json"),
        ({"type": "array"}, "json"),
        ({"properties": {"a": {}}}, "json"),
        ({"type": ["array", "string"]}, "string"),
        ({"anyOf": [{"type": "string", "format": "date-time"}, {"type": "null"}]}, "timestamptz"),
        ({"anyOf": [{"type": "string", "format": "date-time"}, {"type": "string"}]}, "string"),
        ({"anyOf": [{"type": "integer"}, {"type": "number"}, {"type": "null"}]}, "pg:numeric"),
        ({"$ref": "#/definitions/x"}, "string"),
    ],
)
def test_a_schema_becomes_a_type_that_holds_its_values_exactly(schema: Any, expected: str) -> None:
    assert str(type_of(schema)) == expected


def test_a_stream_without_properties_has_no_columns() -> None:
    assert fields_of({"type": "object"}) == ()
