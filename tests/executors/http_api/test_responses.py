"""Values in the text of a response."""

from __future__ import annotations

import pytest

from executors.http_api.responses import NotJson, check_json, records_of, scalar_at, value_at
from ir.json_paths import parse_json_path


@pytest.mark.parametrize(
    ("text", "path", "expected"),
    [
        (
            '{"data": [ {"n": 1.10} , {"n": 12345678901234567890} ]}',
            "$.data",
            ['{"n": 1.10}', '{"n": 12345678901234567890}'],
        ),
        ("[]", "$", []),
        ('[1, "a\\n", null]', "$", ["1", '"a\\n"', "null"]),
        ('{"a": {"data": 1, "b": [[], [{"x":\n 1}]]}}', "$.a.b[-1]", ['{"x":  1}']),
        ('{"id": 1}', "$", ['{"id": 1}']),
        ('{"d": [1], "d": [2]}', "$.d", ["2"]),
        ('{"a\\u0062": [1]}', "$.ab", ["1"]),
    ],
)
def test_records_are_found_as_they_are_written(text: str, path: str, expected: list[str]) -> None:
    value = value_at(text, parse_json_path(path))
    assert value is not None
    assert list(records_of(value)) == expected


@pytest.mark.parametrize("path", ["$.x", "$.data.x", "$.data[1]", "$.data[0].y", "$[0]"])
def test_a_missing_value_is_none(path: str) -> None:
    assert value_at('{"data": [{"n": 1}]}', parse_json_path(path)) is None


@pytest.mark.parametrize(
    ("value", "expected"),
    [('"a\\u00e9"', "aé"), ("1.50", "1.50"), ('""', ""), ("null", None), ("false", None), ("{}", None), ("-0", "-0")],
)
def test_a_scalar_is_a_text_or_a_number(value: str, expected: str | None) -> None:
    assert scalar_at(f'{{"c": {value}}}', ("c",)) == expected


@pytest.mark.parametrize("text", ["", "{", '{"a": NaN}', "<html>", "[1] 2", "[" * 100_000, '"\n"'])
def test_other_texts_are_refused(text: str) -> None:
    with pytest.raises(NotJson):
        check_json(text)
