"""Avro: types are preserved, blocks are splits, and a damaged or oversized block is refused."""

from __future__ import annotations

import datetime as dt
import io
import json
import zlib
from decimal import Decimal
from typing import Any

import fastavro
import pytest

from executors.detection import detect
from executors.errors import Terminal
from executors.formats import FORMATS, avro
from executors.formats.avro_blocks import Bytes, read_header
from executors.formats.unions import union_of_fields
from executors.types import wire_type
from ir.formats import Avro
from tests.executors.formats.conftest import FileReader

AVRO = Avro(type="avro")
UUID = "123e4567-e89b-12d3-a456-426614174000"
MILLIS = dt.datetime(2024, 2, 29, 12, 30, 15, 123000, tzinfo=dt.UTC)
MOMENT = dt.datetime(2024, 2, 29, 12, 30, 15, 123456, tzinfo=dt.UTC)


def schema_of(**fields: Any) -> dict[str, Any]:
    return {"type": "record", "name": "r", "fields": [{"name": name, "type": kind} for name, kind in fields.items()]}


def content_of(schema: Any, rows: list[Any], codec: str = "null", **how: Any) -> bytes:
    out = io.BytesIO()
    fastavro.writer(out, schema, rows, codec=codec, **how)
    return out.getvalue()


def stored(content: bytes, schema: Any) -> bytes:
    """Return a file that was written with plain types, as one whose header declares other types."""
    header = read_header(Bytes([content]), "x")
    old, new = (json.dumps(one).encode() for one in (header.schema, schema))
    key = avro._long(len(b"avro.schema")) + b"avro.schema"
    values = avro._long(1) + key + avro._long(len(new)) + new + avro._long(0)
    assert old
    return b"Obj\x01" + values + header.sync + content[header.size :]


def logical(kind: str, name: str, **more: Any) -> dict[str, Any]:
    return {"type": kind, "logicalType": name, **more}


FIXED_DECIMAL = {"type": "fixed", "name": "D", "size": 4, "logicalType": "decimal", "precision": 9}
DAYS = {"type": "array", "items": ["null", logical("int", "date")]}
NESTED = {
    "type": "record",
    "name": "s",
    "fields": [
        {"name": "d", "type": logical("bytes", "decimal", precision=4, scale=1)},
        {"name": "t", "type": logical("long", "timestamp-micros")},
    ],
}
ENUM = {"type": "enum", "name": "E", "symbols": ["P", "Q"]}
ONE_FIELD = {"type": "record", "name": "s", "fields": [{"name": "x", "type": "int"}]}

COLUMNS: list[tuple[Any, Any, str, Any]] = [
    ("boolean", True, "boolean", True),
    ("int", -(2**31), "integer", -(2**31)),
    ("long", 2**63 - 1, "bigint", 2**63 - 1),
    ("float", 1.5, "float", 1.5),
    ("double", 0.1, "float", 0.1),
    ("bytes", b"\0a", "binary", b"\0a"),
    ("string", "Ж", "string", "Ж"),
    ({"type": "string", "avro.java.string": "String"}, "a", "string", "a"),
    ({"type": "fixed", "name": "F", "size": 2}, b"ab", "binary", b"ab"),
    (ENUM, "Q", "string", "Q"),
    (["null", "string"], None, "string", None),
    (["long", "null"], 5, "bigint", 5),
    ("null", None, "string", None),
    (logical("int", "date"), dt.date(1, 1, 1), "date", dt.date(1, 1, 1)),
    (logical("int", "time-millis"), dt.time(23, 59, 59, 999000), "time", dt.time(23, 59, 59, 999000)),
    (logical("long", "time-micros"), dt.time(1, 2, 3, 4), "time", dt.time(1, 2, 3, 4)),
    (logical("long", "timestamp-millis"), MILLIS, "timestamptz", MILLIS),
    (logical("long", "timestamp-micros"), MOMENT, "timestamptz", MOMENT),
    (logical("long", "local-timestamp-micros"), MOMENT.replace(tzinfo=None), "timestamp", MOMENT.replace(tzinfo=None)),
    (logical("bytes", "decimal", precision=5, scale=2), Decimal("-123.40"), "decimal(5,2)", Decimal("-123.40")),
    (logical("bytes", "decimal", precision=50, scale=0), Decimal("9" * 50), "decimal(50,0)", "9" * 50),
    (FIXED_DECIMAL, Decimal(-1), "decimal(9,0)", Decimal(-1)),
    (logical("string", "uuid"), UUID, "uuid", UUID),
    (logical("string", "color"), "red", "string", "red"),
    (DAYS, [dt.date(2024, 1, 2), None], "json", '["2024-01-02", null]'),
    ({"type": "map", "values": "bytes"}, {"k": b"\xff"}, "json", '{"k": "/w=="}'),
    (
        NESTED,
        {"d": Decimal("1.0"), "t": MOMENT},
        "json",
        '{"d": "1.0", "t": "2024-02-29T12:30:15.123456+00:00"}',
    ),
    (["null", "int", "string"], 5, "json", "5"),
    (["null", "int", "string"], "5", "json", '"5"'),
    (["string", ENUM, ONE_FIELD], {"x": 1}, "json", '{"x": 1}'),
]


@pytest.mark.parametrize(
    ("kind", "value", "column", "expected"), COLUMNS, ids=[f"{n} {c[2]}" for n, c in enumerate(COLUMNS)]
)
def test_types_are_preserved(reader: FileReader, kind: Any, value: Any, column: str, expected: Any) -> None:
    scan = reader.scan(content_of(schema_of(x=kind), [{"x": value}]), AVRO)
    assert str(scan.fields[0].type) == column
    batch = next(iter(avro.read(scan.splits[0], AVRO, scan.fields)))
    assert batch.schema.field("x").type == wire_type(scan.fields[0].type).arrow
    assert batch.column("x").to_pylist() == [expected]
    assert batch.column("_flow_bad").to_pylist() == [None]


BAD = {
    "nanoseconds": (logical("long", "timestamp-nanos"), "long", [1000, 1500], "timestamptz"),
    "a year": (logical("long", "timestamp-millis"), "long", [0, 2**60], "timestamptz"),
    "a time": (logical("int", "time-millis"), "int", [0, 86_400_000], "time"),
    "digits": (logical("bytes", "decimal", precision=2, scale=0), "bytes", [b"\x63", b"\x64"], "decimal(2,0)"),
    "a uuid": (logical("string", "uuid"), "string", [UUID, "x"], "uuid"),
    "nested": (
        {"type": "array", "items": logical("int", "date")},
        {"type": "array", "items": "int"},
        [[0], [2**31 - 1]],
        "json",
    ),
    "text": ("string", "bytes", [b"a", b"a\xff"], "string"),
}


@pytest.mark.parametrize("case", BAD)
def test_a_value_that_its_type_does_not_have_makes_a_bad_row(reader: FileReader, case: str) -> None:
    declared, plain, values, column = BAD[case]
    rows = [{"id": n, "x": value} for n, value in enumerate(values)]
    content = stored(content_of(schema_of(id="int", x=plain), rows), schema_of(id="int", x=declared))
    good, bad = reader.read(reader.scan(content, AVRO), AVRO)
    assert (good["id"], good["_flow_bad"], bad["_flow_record"]) == (0, None, 2)
    assert bad["_flow_bad"] == f"column 'x' does not fit {column}"
    assert bad["_flow_raw"].startswith("id: 1; x: ")


@pytest.mark.parametrize("codec", ["null", "deflate", "snappy", "zstandard", "bzip2", "xz"])
def test_every_codec_is_read_in_parts(reader: FileReader, codec: str) -> None:
    if codec == "snappy":  # fastavro needs another library to write it
        content = with_snappy([{"n": n} for n in range(3000)])
    else:
        content = content_of(schema_of(n="long"), [{"n": n} for n in range(3000)], codec, sync_interval=300)
    scan = reader.scan(content, AVRO, split_bytes=1000)
    assert len(scan.splits) > 2
    assert scan.splits[-1].end == len(content)
    rows = reader.read(scan, AVRO, block_bytes=500)
    assert [(row["_flow_record"], row["n"]) for row in rows] == [(n + 1, n) for n in range(3000)]


def with_snappy(rows: list[Any]) -> bytes:
    import pyarrow as pa

    plain = content_of(schema_of(n="long"), rows, sync_interval=300)
    data = Bytes([plain])
    header = read_header(data, "x")
    out = bytearray(plain[: header.size].replace(b"\x14avro.codec\x08null", b"\x14avro.codec\x0csnappy"))
    while not data.is_at_end():
        count, block = data.long(), data.read(data.long())
        packed = pa.compress(block, codec="snappy", asbytes=True) + zlib.crc32(block).to_bytes(4, "big")
        out += avro._long(count) + avro._long(len(packed)) + packed + data.read(16)
    return bytes(out)


def test_the_head_is_the_first_blocks(reader: FileReader) -> None:
    content = content_of(schema_of(n="long"), [{"n": n} for n in range(3000)], sync_interval=300)
    scan = avro.scan_head(reader.file(content), AVRO, most_bytes=1000)
    assert 100 < scan.records < 600
    assert [row["n"] for row in reader.read(scan, AVRO)] == list(range(scan.records))


def test_an_empty_file_has_columns_and_no_splits(reader: FileReader) -> None:
    scan = reader.scan(content_of(schema_of(n="long"), []), AVRO)
    assert (scan.records, [field.name for field in scan.fields], scan.splits) == (0, ["n"], ())


def test_files_of_one_source_may_differ(reader: FileReader) -> None:
    """A column that one file lacks, and a type that widens."""
    old = reader.scan(content_of(schema_of(id="int"), [{"id": 1}]), AVRO)
    file = reader.file(content_of(schema_of(id="long", new="string"), [{"id": 2, "new": "x"}]), "second")
    new = FORMATS["avro"].scan(file, AVRO)
    fields = union_of_fields([old, new])
    assert [(field.name, str(field.type)) for field in fields] == [("id", "bigint"), ("new", "string")]
    rows = [b.to_pylist()[0] for scan in (old, new) for b in avro.read(scan.splits[0], AVRO, fields)]
    assert [(row["id"], row["new"]) for row in rows] == [(1, None), (2, "x")]


WHOLE = content_of(schema_of(n="long", t="string"), [{"n": n, "t": "x" * 50} for n in range(500)], "deflate")
DAMAGED = {
    "empty": b"",
    "other": b"a,b\n1,2\n",
    "header": WHOLE[:40],
    "truncated": WHOLE[:-1],
    "no marker": WHOLE[:-16] + bytes(16),
    "schema": WHOLE.replace(b'"long"', b'"lang"'),
    "garbage": WHOLE + b"x",
}


@pytest.mark.parametrize("case", DAMAGED)
def test_a_damaged_file_is_refused(reader: FileReader, case: str) -> None:
    with pytest.raises(Terminal) as refused:
        reader.scan(DAMAGED[case], AVRO)
    assert refused.value.code == "source.malformed"


def test_a_damaged_block_fails_the_reading(reader: FileReader) -> None:
    content = bytearray(WHOLE)
    content[-60:-40] = bytes(20)
    scan = reader.scan(bytes(content), AVRO)
    with pytest.raises(Terminal) as refused:
        reader.read(scan, AVRO)
    assert refused.value.code == "source.malformed"


@pytest.mark.parametrize("count", [1, 3, 2**40])
def test_a_block_holds_exactly_its_records(reader: FileReader, count: int) -> None:
    plain = content_of(schema_of(n="long"), [{"n": 1}, {"n": 2}])
    header = read_header(Bytes([plain]), "x")
    block = avro._long(count) + avro._long(2) + b"\x02\x04" + header.sync
    scan = reader.scan(plain[: header.size] + block, AVRO)
    with pytest.raises(Terminal) as refused:
        reader.read(scan, AVRO)
    assert refused.value.code == "source.malformed"


@pytest.mark.slow
def test_a_block_that_expands_too_much_is_refused(reader: FileReader) -> None:
    content = content_of(schema_of(t="string"), [{"t": "x" * (70 << 20)}], "deflate")
    scan = reader.scan(content, AVRO)
    with pytest.raises(Terminal) as refused:
        reader.read(scan, AVRO)
    assert refused.value.code == "source.expands_too_much"


LIST = {"type": "array", "items": {"type": "record", "name": "n", "fields": []}}
UNSUPPORTED = {
    "lists of nothing": schema_of(x=LIST),
    "itself": {"type": "record", "name": "r", "fields": [{"name": "next", "type": ["null", "r"]}]},
    "a duration": schema_of(x={"type": "fixed", "name": "d", "size": 12, "logicalType": "duration"}),
    "no record": "string",
    "two kinds of int": schema_of(x=["null", "long", logical("int", "date")]),
}


@pytest.mark.parametrize("case", UNSUPPORTED)
def test_what_has_no_column_is_refused(reader: FileReader, case: str) -> None:
    content = stored(content_of(schema_of(n="long"), []), UNSUPPORTED[case])
    with pytest.raises(Terminal) as refused:
        reader.scan(content, AVRO)
    assert refused.value.code == "source.type_unsupported"


@pytest.mark.parametrize("is_whole", [True, False])
def test_the_columns_are_detected(is_whole: bool) -> None:
    rows = [{"id": n, "day": dt.date(2024, 1, 1)} for n in range(300)]
    content = content_of(schema_of(id="long", day=logical("int", "date")), rows, sync_interval=300)
    found = detect(content if is_whole else content[:-10], "x.avro", is_whole=is_whole)
    assert (found.format.type, [column.type for column in found.columns]) == ("avro", ["bigint", "date"])
    assert (found.rows_read == 300) is is_whole
