"""The values that each type accepts and refuses, each alone and among others."""

from __future__ import annotations

import json
import math
from datetime import UTC, date, datetime, time
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pytest

from executors.errors import Terminal
from executors.grammar import Written, parse_column
from executors.grammar.parse import PARSERS
from executors.types import wire_type
from ir.types import SIMPLE_TYPES, ColumnType

UUID = "123e4567-e89b-12d3-a456-426614174000"

ACCEPTED: dict[str, dict[str, Any]] = {
    "integer": {
        "0": 0,
        "-0": 0,
        "+7": 7,
        "007": 7,
        "-00012": -12,
        " 5": 5,
        "5\t": 5,
        "\r\n5\v\f": 5,
        "2147483647": 2147483647,
        "-2147483648": -2147483648,
        "+2147483647": 2147483647,
        "1999999999": 1999999999,
        "0" * 50 + "12": 12,
    },
    "bigint": {
        "9223372036854775807": 2**63 - 1,
        "-9223372036854775808": -(2**63),
        "9007199254740993": 9007199254740993,
        "+0000000000000000000000001": 1,
        "8999999999999999999": 8999999999999999999,
    },
    "float": {
        "1": 1.0,
        "1.": 1.0,
        ".5": 0.5,
        "-.5e1": -5.0,
        "+1.5": 1.5,
        "1e5": 1e5,
        "1E+05": 1e5,
        "1e-7": 1e-7,
        " 2.5 ": 2.5,
        "0.1": 0.1,
        "1.7976931348623157e308": 1.7976931348623157e308,
        "5e-324": 5e-324,
        "0e999": 0.0,
        "0e99999999999999999999": 0.0,
        "-0": -0.0,
        "Infinity": math.inf,
        "-Infinity": -math.inf,
        " Infinity": math.inf,
        "0" * 250 + "1": 1.0,
    },
    "decimal(5,2)": {
        "1": Decimal("1.00"),
        "999.99": Decimal("999.99"),
        "-999.99": Decimal("-999.99"),
        "1.5": Decimal("1.50"),
        "1.2300000": Decimal("1.23"),
        "000123.4": Decimal("123.40"),
        "1e2": Decimal("100.00"),
        "12345e-2": Decimal("123.45"),
        "1.": Decimal("1.00"),
        ".25": Decimal("0.25"),
        "+0.01": Decimal("0.01"),
        " 7 ": Decimal("7.00"),
        "0e999999999": Decimal("0.00"),
        "-0e99999999999999999999": Decimal("0.00"),
        "0." + "0" * 60: Decimal("0.00"),
        "1." + "0" * 60: Decimal("1.00"),
    },
    "decimal(3,3)": {"0.125": Decimal("0.125"), ".5": Decimal("0.500"), "0": Decimal("0.000")},
    "decimal(2,4)": {"0.0012": Decimal("0.0012"), "0.0099": Decimal("0.0099")},
    "decimal(38,0)": {"9" * 38: Decimal("9" * 38), "-" + "9" * 38: Decimal("-" + "9" * 38)},
    "decimal(60,2)": {"1" * 58 + ".25": "1" * 58 + ".25", "1e3": "1000", "1.50": "1.5"},
    "boolean": {
        "true": True,
        "T": True,
        "Yes": True,
        "y": True,
        "1": True,
        "ON": True,
        " true ": True,
        "FALSE": False,
        "f": False,
        "no": False,
        "N": False,
        "0": False,
        "oFf": False,
    },
    "date": {
        "2024-02-29": date(2024, 2, 29),
        "2000-02-29": date(2000, 2, 29),
        "0001-01-01": date(1, 1, 1),
        "9999-12-31": date(9999, 12, 31),
        " 2013-01-05 ": date(2013, 1, 5),
        "0999-03-31": date(999, 3, 31),
    },
    "timestamp": {
        "2024-01-31T10:20:30": datetime(2024, 1, 31, 10, 20, 30),
        "2024-01-31 10:20": datetime(2024, 1, 31, 10, 20),
        "2024-01-31 10:20:30.5": datetime(2024, 1, 31, 10, 20, 30, 500000),
        "2024-01-31 10:20:30.123456": datetime(2024, 1, 31, 10, 20, 30, 123456),
        "2024-02-29T00:00:00": datetime(2024, 2, 29),
        "0001-01-01 00:00:00": datetime(1, 1, 1),
        "9999-12-31T23:59:59.999999": datetime(9999, 12, 31, 23, 59, 59, 999999),
        "\t2024-01-31 23:59 ": datetime(2024, 1, 31, 23, 59),
        " 2024-01-31 23:59\t ": datetime(2024, 1, 31, 23, 59),
    },
    "timestamptz": {
        "2024-01-31T10:20:30Z": datetime(2024, 1, 31, 10, 20, 30, tzinfo=UTC),
        "2024-01-31 10:20:30": datetime(2024, 1, 31, 10, 20, 30, tzinfo=UTC),
        "2024-01-31 10:20:30+02:00": datetime(2024, 1, 31, 8, 20, 30, tzinfo=UTC),
        "2024-01-31 10:20:30-0530": datetime(2024, 1, 31, 15, 50, 30, tzinfo=UTC),
        "2024-01-31T10:20+14": datetime(2024, 1, 30, 20, 20, tzinfo=UTC),
        "2024-02-29T23:59:59.999999-15:59": datetime(2024, 3, 1, 15, 58, 59, 999999, tzinfo=UTC),
    },
    "time": {"10:20": time(10, 20), "23:59:59.999999": time(23, 59, 59, 999999), " 00:00:00 ": time(0)},
    "uuid": {UUID: UUID, UUID.upper(): UUID, f" {UUID} ": UUID},
    "json": {
        " 1 ": "1",
        "{}": "{}",
        "[1, 2]": "[1, 2]",
        '"a"': '"a"',
        "null": "null",
        "-1.5e3": "-1.5e3",
        '{"a": {"b": [true, false]}}': '{"a": {"b": [true, false]}}',
        "1" * 5000: "1" * 5000,
    },
    "binary": {"\\x": b"", "\\x00ff": b"\x00\xff", " \\xAb ": b"\xab"},
    "string": {"": "", "  x ": "  x ", "NaN": "NaN"},
    "pg:inet": {"10.0.0.1": "10.0.0.1", "": ""},
}

REFUSED: dict[str, tuple[str, ...]] = {
    "integer": (
        "",
        " ",
        "1_000",
        "0x1F",
        "1e3",
        "1.0",
        "1.",
        "+",
        "-",
        "--1",
        "1 2",
        "١",
        "２",
        "2147483648",
        "-2147483649",
        "9" * 30,
        "1,000",
        "abc",
        "NaN",
        "1\0",
        "\u00a01",
    ),
    "bigint": ("9223372036854775808", "-9223372036854775809", "9" * 5000, "0b1", "1e3"),
    "float": (
        "",
        "1_000",
        "1.5f",
        "0x1p3",
        "1,5",
        "nan",
        "NAN",
        "inf",
        "infinity",
        "+Infinity",
        "-NaN",
        "1e",
        "e5",
        ".",
        "-",
        "1e999",
        "-1e999",
        "1e-999",
        "1 e5",
        "١.٥",
        "1.5.2",
        "nan(1)",
        "1e5.5",
        "9" * 400,
        "1e-99999999999999999999",
    ),
    "decimal(5,2)": (
        "",
        "1.234",
        "1000",
        "999.999",
        "1e3",
        "123456e-3",
        "NaN",
        "Infinity",
        "1_0",
        "0x1",
        "1,5",
        ".",
        "-",
        "1e999999999",
        "1e-999999999",
        "1e99999999999999999999",
        "1e-99999999999999999999",
        "9" * 5000,
        "0." + "0" * 60 + "1",
    ),
    "decimal(3,3)": ("1", "0.1234", "1.000"),
    "decimal(2,4)": ("0.01", "0.00001"),
    "decimal(38,0)": ("1" + "0" * 38, "0.5"),
    "decimal(60,2)": ("1" * 59, "0.125", "NaN"),
    "boolean": ("", "2", "-1", "tru", "yep", "null", "1.0", "wahr", "ﬀ"),
    "date": (
        "",
        "now",
        "today",
        "infinity",
        "01/02/2025",
        "2025-02-29",
        "1900-02-29",
        "2024-04-31",
        "2024-00-10",
        "2024-13-01",
        "2024-01-00",
        "2024-01-32",
        "0000-01-01",
        "10000-01-01",
        "2024-1-1",
        "24-01-01",
        "20240101",
        "2024-01-01T00:00:00",
        "2024-01-01x",
        "-2024-01-01",
        "２０２４-01-01",
        "2024/01/01",
    ),
    "timestamp": (
        "",
        "now",
        "2024-01-31",
        "2024-01-31T10",
        "2024-01-31T102030",
        "2024-01-31T10:20:30Z",
        "2024-01-31T10:20:30+02:00",
        "2024-01-31  10:20",
        "2024-01-31t10:20:30",
        "2024-01-31T24:00:00",
        "2024-01-31T10:60:00",
        "2024-01-31T10:20:60",
        "2024-01-31T10:20:30.1234567",
        "2024-01-31T10:20:30.",
        "2024-01-31T10:20:30,5",
        "2023-02-29T10:20:30",
        "0000-01-01T00:00:00",
        "20240131T102030",
        "2024-01-31 10:20+00",
        "2024-01-31 10:20:3 ",
        "2024-01-31-10:20:30",
        "2024-01-31 10.20.30",
    ),
    "timestamptz": (
        "2024-01-31",
        "now",
        "2024-01-31T10:20:30 +02:00",
        "2024-01-31T10:20:30+2",
        "2024-01-31T10:20:30z",
        "2024-01-31T10:20:30 Europe/Berlin",
        "2024-01-31T10:20:30UTC",
        "2024-01-31T10:20:30+02:60",
        "2024-01-31T10:20:30+16:00",
        "0001-01-01T00:00:00+14:00",
        "9999-12-31T23:59:59-14:00",
    ),
    "time": ("", "24:00", "10", "10:60", "10:20:61", "1:20", "10:20:30.1234567", "10:20Z"),
    "uuid": ("", "{" + UUID + "}", UUID.replace("-", ""), UUID[:-1], UUID + "0", UUID.replace("1", "g")),
    "json": (
        "",
        "NaN",
        "Infinity",
        "-Infinity",
        "{'a': 1}",
        "{a: 1}",
        "[1,]",
        "01",
        "1.",
        "nul",
        '"a',
        '"\t"',
        "{} {}",
        "[" * 100_000,
    ),
    "binary": ("", "00ff", "\\x0", "\\xgg", "\\X00", "abc"),
}


def typed_of(text: str | None, kind: str) -> tuple[Any, bool]:
    typed, bad = parse_column(pa.array([text], pa.string()), ColumnType.parse(kind))
    assert typed.type == wire_type(ColumnType.parse(kind)).arrow
    return typed[0].as_py(), bad[0].as_py()


def same(one: Any, other: Any) -> bool:
    return bool(one == other) and (not isinstance(one, float) or math.copysign(1, one) == math.copysign(1, other))


@pytest.mark.parametrize(("kind", "text"), [(kind, text) for kind, texts in ACCEPTED.items() for text in texts])
def test_accepts(kind: str, text: str) -> None:
    value, bad = typed_of(text, kind)
    assert not bad
    assert same(value, ACCEPTED[kind][text])


@pytest.mark.parametrize(("kind", "text"), [(kind, text) for kind, texts in REFUSED.items() for text in texts])
def test_refuses(kind: str, text: str) -> None:
    assert typed_of(text, kind) == (None, True)


def test_not_a_number_is_a_float() -> None:
    value, bad = typed_of(" NaN ", "float")
    assert math.isnan(value)
    assert not bad


@pytest.mark.parametrize("kind", ACCEPTED)
def test_null_is_never_bad(kind: str) -> None:
    assert typed_of(None, kind) == (None, False)


@pytest.mark.parametrize("kind", ACCEPTED)
def test_the_place_among_others_changes_nothing(kind: str) -> None:
    accepted, refused = ACCEPTED[kind], REFUSED.get(kind, ())
    texts = [None, *(text for pair in zip(accepted, refused, strict=False) for text in pair), *accepted, *refused, None]
    values = pa.array(["skipped", *texts], pa.string()).slice(1)
    typed, bad = parse_column(values, ColumnType.parse(kind))
    assert bad.to_pylist() == [text in refused for text in texts]
    for text, value in zip(texts, typed.to_pylist(), strict=True):
        assert value is None if text is None or text in refused else same(value, accepted[text])


@pytest.mark.parametrize("kind", ACCEPTED)
def test_no_value_at_all(kind: str) -> None:
    typed, bad = parse_column(pa.array([], pa.string()), ColumnType.parse(kind))
    assert (len(typed), len(bad), typed.type) == (0, 0, wire_type(ColumnType.parse(kind)).arrow)


def test_every_type_has_a_parser() -> None:
    assert set(PARSERS) == {*SIMPLE_TYPES, "decimal", "pg"}


def test_json_of_any_size_is_read() -> None:
    text = json.dumps([{"key": "value" * 10}] * 20_000)
    assert typed_of(text, "json") == (text, False)


# --- a column's own format -----------------------------------------------------------------------------------


def formatted(texts: list[str | None], kind: str, template: str) -> tuple[list[Any], list[bool]]:
    typed, bad = parse_column(pa.array(texts, pa.string()), ColumnType.parse(kind), Written((template,)))
    return typed.to_pylist(), bad.to_pylist()


def test_a_date_in_its_own_format() -> None:
    texts = ["31/01/2024", " 1/2/2024", "31/02/2024", "2024-01-31", None, "31/01/2024", ""]
    days = [date(2024, 1, 31), date(2024, 2, 1), None, None, None, date(2024, 1, 31), None]
    assert formatted(texts, "date", "%d/%m/%Y") == (days, [False, False, True, True, False, False, True])


def test_a_timestamp_in_its_own_format() -> None:
    texts = ["01.02.2024 03:04", "01.02.2024"]
    assert formatted(texts, "timestamp", "%d.%m.%Y %H:%M") == ([datetime(2024, 2, 1, 3, 4), None], [False, True])


def test_a_zone_in_the_format_counts() -> None:
    texts = ["2024-01-31 10:00 +0200"]
    moment = datetime(2024, 1, 31, 8, tzinfo=UTC)
    assert formatted(texts, "timestamptz", "%Y-%m-%d %H:%M %z") == ([moment], [False])


def test_a_timestamptz_without_zone_in_the_format_is_utc() -> None:
    assert formatted(["31.01.2024"], "timestamptz", "%d.%m.%Y") == ([datetime(2024, 1, 31, tzinfo=UTC)], [False])


def test_a_zone_is_bad_where_the_type_has_none() -> None:
    assert formatted(["2024-01-31 +0200"], "timestamp", "%Y-%m-%d %z") == ([None], [True])


def test_other_types_have_no_format() -> None:
    assert formatted(["7"], "integer", "%d") == ([7], [False])


@pytest.mark.parametrize("template", ["%Q", "%", "%Y-%"])
def test_a_format_that_nothing_could_match_is_refused(template: str) -> None:
    with pytest.raises(Terminal) as refused:
        formatted(["x"], "date", template)
    assert refused.value.code == "source.format_unusable"
