"""JSON Lines and JSON arrays: exact values, bad records, broken files."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from executors.errors import Terminal
from ir.formats import Json, Jsonl
from ir.nodes import SourceColumn

JSONL, JSON = Jsonl(type="jsonl"), Json(type="json")
FORMS = pytest.mark.parametrize("fmt", [JSONL, JSON])


def document(records: list[str], fmt: Any) -> bytes:
    return ("\n".join(records) if fmt is JSONL else "[" + ",\n ".join(records) + "]\n").encode()


def rows_of(reader: Any, records: list[str], fmt: Any) -> list[dict[str, Any]]:
    return reader.rows(document(records, fmt), fmt)  # type: ignore[no-any-return]


@FORMS
def test_values_are_the_text_they_are_written_as(reader: Any, fmt: Any) -> None:
    record = (
        '{"a": 1.50, "b": -0, "c": 1E+05, "d": 123456789012345678901234567890, "e": true, "f": false, "g": "x\\ny"}'
    )
    assert rows_of(reader, [record], fmt) == [
        {
            "a": "1.50",
            "b": "-0",
            "c": "1E+05",
            "d": "123456789012345678901234567890",
            "e": "true",
            "f": "false",
            "g": "x\ny",
        }
    ]


@FORMS
def test_nested_values_are_their_exact_text(reader: Any, fmt: Any) -> None:
    record = '{"a": {"k": [1.0, {"q": "}"}]} , "b":[ 1 ,2], "c": "[x{"}'
    assert rows_of(reader, [record], fmt) == [{"a": '{"k": [1.0, {"q": "}"}]}', "b": "[ 1 ,2]", "c": "[x{"}]


@FORMS
def test_null_and_an_absent_key_are_null_and_an_empty_text_is_not(reader: Any, fmt: Any) -> None:
    rows = rows_of(reader, ['{"a": null, "b": ""}', "{}", '{"c": "null"}'], fmt)
    assert rows == [
        {"a": None, "b": "", "c": None},
        {"a": None, "b": None, "c": None},
        {"a": None, "b": None, "c": "null"},
    ]


@FORMS
def test_fields_are_all_keys_in_order_of_appearance(reader: Any, fmt: Any) -> None:
    records = [
        '{"b": 1, "n": null, "j": [1], "m": "x"}',
        '{"a": 1, "b": 2}',
        '{"j": null, "m": {}, "k": {}}',
        '{"m": 1}',
    ]
    fields = reader.scan(document(records, fmt), fmt).fields
    assert [(field.name, str(field.type)) for field in fields] == [
        ("b", "string"),
        ("n", "string"),
        ("j", "json"),
        ("m", "string"),
        ("a", "string"),
        ("k", "json"),
    ]


@FORMS
@pytest.mark.parametrize(
    ("record", "reason"),
    [
        ("[1]", "not a JSON object"),
        ('"{"', "not a JSON object"),
        ("3", "not a JSON object"),
        ("null", "not a JSON object"),
        ('{"a": 1, "a": 2}', "the key 'a' is repeated"),
        ('{"a": [1], "a": 2}', "the key 'a' is repeated"),
        ('{"a": NaN}', "not valid JSON: NaN is not a JSON value"),
        ('{"a": [-Infinity]}', "not valid JSON: -Infinity is not a JSON value"),
        ('{"a": "\\ud800"}', "an escape is an incomplete surrogate pair"),
    ],
)
def test_what_is_no_row_is_bad(reader: Any, bad_rows: Callable[..., Any], fmt: Any, record: str, reason: str) -> None:
    records = ['{"a": 1}', record, '{"a": 3}']
    rows = reader.read(reader.scan(document(records, fmt), fmt), fmt)
    assert bad_rows(rows) == [(2, reason, record)]
    assert [row["a"] for row in rows] == ["1", None, "3"]


@pytest.mark.parametrize(
    "record",
    [
        "{bad}",
        '{"a": 1',
        '{"a": 1}}',
        '{"a" 1}',
        '{"a": 1,}',
        '{"a": [1,]}',
        '{"a": [1]} x',
        '{"a": {"b": 01}}',
        "[",
        '{"a":',
    ],
)
def test_a_broken_line_is_bad_and_the_next_is_not(reader: Any, record: str) -> None:
    content = document([record, '{"a": 2}'], JSONL)
    rows = reader.read(reader.scan(content, JSONL), JSONL)
    assert rows[0]["_flow_bad"].startswith("not valid JSON")
    assert rows[1]["a"] == "2"


def test_a_line_nested_beyond_reason_is_bad(reader: Any) -> None:
    rows = reader.read(reader.scan(b'{"a": ' + b"[" * 100_000 + b"\n" + b'{"a": 1}', JSONL), JSONL)
    assert [row["_flow_bad"] for row in rows] == ["nested too deeply", None]


@FORMS
def test_broken_utf8_is_bad_for_its_record_alone(reader: Any, bad_rows: Callable[..., Any], fmt: Any) -> None:
    content = document(['{"a": "x"}', '{"a": "@"}'], fmt).replace(b"@", b"\xff")
    rows = reader.read(reader.scan(content, fmt), fmt)
    assert bad_rows(rows) == [(2, "not valid utf-8", '{"a": "\\xff"}')]


@FORMS
def test_a_nul_escape_is_kept_for_the_outcome(reader: Any, fmt: Any) -> None:
    assert rows_of(reader, ['{"a": "x\\u0000y"}'], fmt) == [{"a": "x\0y"}]


@FORMS
def test_a_byte_order_mark_is_dropped(reader: Any, fmt: Any) -> None:
    assert reader.rows(b"\xef\xbb\xbf" + document(['{"a": 1}'], fmt), fmt) == [{"a": "1"}]


@FORMS
def test_a_missing_declared_column_is_named(reader: Any, fmt: Any) -> None:
    with pytest.raises(Terminal, match="'b'") as refused:
        reader.scan(document(['{"a": 1}'], fmt), fmt, [SourceColumn(name="b", type="string")])
    assert refused.value.code == "source.column_missing"


@FORMS
def test_no_record_is_an_empty_source_with_the_declared_columns(reader: Any, fmt: Any) -> None:
    scan = reader.scan(b"\n" if fmt is JSONL else b" [ ] ", fmt, [SourceColumn(name="b", type="string")])
    assert (scan.records, [field.name for field in scan.fields], scan.splits) == (0, ["b"], ())


@pytest.mark.parametrize(
    ("content", "record"),
    [
        (b"", 0),
        (b"[", 0),
        (b"[1", 0),
        (b"[{}", 0),
        (b"[{},", 1),
        (b"[{},]", 1),
        (b"{}", 0),
        (b"[] x", 0),
        (b'[{}, {"a":1]', 1),
        (b"[{} {}]", 1),
        (b"[" * 100_000, 0),
    ],
)
def test_a_broken_array_fails_the_file_and_says_where(reader: Any, content: bytes, record: int) -> None:
    with pytest.raises(
        Terminal, match=rf"data.csv is not a JSON array: .* after record {record}, at character \d+"
    ) as refused:
        reader.scan(content, JSON)
    assert refused.value.code == "source.malformed"


scalars = (
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(max_size=5)
)
values = st.recursive(scalars, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner))
records_of_anything = st.lists(st.dictionaries(st.sampled_from(["a", "b", "ключ"]), values, max_size=3), max_size=6)


def as_text(value: Any) -> str | None:
    return None if value is None else value if isinstance(value, str) else json.dumps(value)


@given(
    records=records_of_anything,
    fmt=st.sampled_from([JSONL, JSON]),
    block_bytes=st.integers(1, 50),
    split_bytes=st.integers(1, 50),
    ascii_only=st.booleans(),
)
def test_what_json_writes_comes_back(
    reader: Any, records: list[dict[str, Any]], fmt: Any, block_bytes: int, split_bytes: int, ascii_only: bool
) -> None:
    content = document([json.dumps(record, ensure_ascii=ascii_only) for record in records], fmt)
    sizes = {"split_bytes": split_bytes} if fmt is JSONL else {}
    scan = reader.scan(content, fmt, block_bytes=block_bytes, **sizes)
    rows = reader.read(scan, fmt, block_bytes=block_bytes)
    assert scan.records == len(records)
    assert [row["_flow_record"] for row in rows] == list(range(1, len(records) + 1))
    assert {field.name for field in scan.fields} == {key for record in records for key in record}
    for row, record in zip(rows, records, strict=True):
        got = {field.name: row[field.name] for field in scan.fields}
        want = {field.name: record.get(field.name) for field in scan.fields}
        for name, value in want.items():
            nested = isinstance(value, dict | list)
            assert json.loads(got[name]) == value if nested else got[name] == as_text(value)
