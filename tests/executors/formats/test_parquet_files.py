"""Parquet: types are preserved, row groups are splits, and no value is rounded silently."""

from __future__ import annotations

import datetime as dt
import io
import os
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pytest
from pyarrow import parquet as pq

from executors.errors import Terminal, Transient
from executors.formats import parquet as parquet_format
from executors.types import wire_type
from ir.formats import Parquet
from ir.nodes import SourceColumn

PARQUET = Parquet(type="parquet")
UUID = "123e4567-e89b-12d3-a456-426614174000"


def content_of(table: pa.Table, rows_per_group: int = 2) -> bytes:
    out = io.BytesIO()
    pq.write_table(table, out, row_group_size=rows_per_group)
    return out.getvalue()


COLUMNS: list[tuple[pa.Array, str, list[Any]]] = [
    (pa.array([1, None], pa.int8()), "integer", [1, None]),
    (pa.array([1, 65535], pa.uint16()), "integer", [1, 65535]),
    (pa.array([1, 2**32 - 1], pa.uint32()), "bigint", [1, 2**32 - 1]),
    (pa.array([-(2**63), None], pa.int64()), "bigint", [-(2**63), None]),
    (pa.array([0, 2**64 - 1], pa.uint64()), "decimal(20,0)", [Decimal(0), Decimal(2**64 - 1)]),
    (pa.array([1.5, None], pa.float32()), "float", [1.5, None]),
    (pa.array([True, None]), "boolean", [True, None]),
    (pa.array([Decimal("1.50"), None], pa.decimal128(10, 2)), "decimal(10,2)", [Decimal("1.50"), None]),
    (pa.array([Decimal("1" * 45), None], pa.decimal256(50, 2)), "decimal(50,2)", ["1" * 45, None]),
    (pa.array(["a", None], pa.large_string()), "string", ["a", None]),
    (pa.array(["a", None]).dictionary_encode(), "string", ["a", None]),
    (pa.array([b"\0a", None], pa.binary(2)), "binary", [b"\0a", None]),
    (pa.array([dt.date(1, 1, 1), None], pa.date32()), "date", [dt.date(1, 1, 1), None]),
    (pa.array([1000, None], pa.timestamp("ns")), "timestamp", [dt.datetime(1970, 1, 1, 0, 0, 0, 1), None]),
    (
        pa.array([3600, None], pa.timestamp("s", "Europe/Berlin")),
        "timestamptz",
        [dt.datetime(1970, 1, 1, 1, tzinfo=dt.UTC), None],
    ),
    (pa.array([dt.time(1, 2, 3), None], pa.time32("ms")), "time", [dt.time(1, 2, 3), None]),
    (pa.array([[1, 2], None]), "json", ["[1, 2]", None]),
    (
        pa.array([{"a": [Decimal("1.10")], "b": float("nan"), "c": dt.date(2024, 1, 2)}, None]),
        "json",
        ['{"a": ["1.10"], "b": "nan", "c": "2024-01-02"}', None],
    ),
    (pa.array([[("k", 1)], []], pa.map_(pa.string(), pa.int64())), "json", ['{"k": 1}', "{}"]),
    (pa.array([bytes.fromhex(UUID.replace("-", "")), None], pa.uuid()), "uuid", [UUID, None]),
    (pa.nulls(2), "string", [None, None]),
]


@pytest.mark.parametrize(("values", "kind", "expected"), COLUMNS, ids=[str(values.type) for values, _, _ in COLUMNS])
def test_types_are_kept(reader: Any, values: pa.Array, kind: str, expected: list[Any]) -> None:
    scan = reader.scan(content_of(pa.table({"x": values})), PARQUET)
    assert str(scan.fields[0].type) == kind
    batch = next(iter(parquet_format.read(scan.splits[0], PARQUET, scan.fields)))
    assert batch.schema.field("x").type == wire_type(scan.fields[0].type).arrow
    assert batch.column("x").to_pylist() == expected


def test_row_groups_are_splits_and_records_are_numbered(reader: Any) -> None:
    scan = reader.scan(content_of(pa.table({"x": list(range(7))})), PARQUET, split_bytes=1)
    assert [(s.start, s.end, s.first_record, s.records) for s in scan.splits] == [
        (0, 1, 1, 2),
        (1, 2, 3, 2),
        (2, 3, 5, 2),
        (3, 4, 7, 1),
    ]
    assert [(row["_flow_record"], row["x"]) for row in reader.read(scan, PARQUET)] == [(n + 1, n) for n in range(7)]


def test_small_row_groups_share_a_split(reader: Any) -> None:
    scan = reader.scan(content_of(pa.table({"x": list(range(7))})), PARQUET)
    assert [(s.start, s.end, s.records) for s in scan.splits] == [(0, 4, 7)]


def test_an_empty_file_has_columns_and_no_splits(reader: Any) -> None:
    scan = reader.scan(content_of(pa.table({"x": pa.array([], pa.int64())})), PARQUET)
    assert (scan.records, [field.name for field in scan.fields], scan.splits) == (0, ["x"], ())


def test_nanoseconds_that_would_be_cut_make_a_bad_row(reader: Any) -> None:
    table = pa.table({"t": pa.array([1000, 1500, None], pa.timestamp("ns")), "x": ["a", "b", "c"]})
    rows = reader.read(reader.scan(content_of(table, 10), PARQUET), PARQUET)
    assert [row["_flow_bad"] for row in rows] == [None, "column 't' does not fit timestamp", None]
    assert [row["x"] for row in rows] == ["a", None, "c"]
    assert rows[1]["_flow_raw"] == "t: 1970-01-01 00:00:00.0000015; x: b"


def test_a_timestamp_beyond_microseconds_makes_a_bad_row(reader: Any) -> None:
    table = pa.table({"t": pa.array([2**55], pa.timestamp("ms"))})
    assert reader.read(reader.scan(content_of(table), PARQUET), PARQUET)[0]["_flow_bad"] is not None


def test_columns_are_found_by_their_exact_name(reader: Any) -> None:
    table = pa.table({"a.b": [1], "a": pa.array([{"b": 2}]), "b": [3]})
    assert reader.rows(content_of(table), PARQUET) == [{"a.b": 1, "a": '{"b": 2}', "b": 3}]


def test_batches_are_bounded_by_bytes(reader: Any) -> None:
    scan = reader.scan(content_of(pa.table({"x": [str(n) * 50 for n in range(2000)]}), 2000), PARQUET)
    batches = list(parquet_format.read(scan.splits[0], PARQUET, scan.fields, block_bytes=20_000))
    assert sum(batch.num_rows for batch in batches) == 2000
    assert max(batch.nbytes for batch in batches) < 60_000


def test_a_duration_has_no_counterpart(reader: Any) -> None:
    with pytest.raises(Terminal, match="'x'") as refused:
        reader.scan(content_of(pa.table({"x": pa.array([1], pa.duration("us"))})), PARQUET)
    assert refused.value.code == "source.type_unsupported"


def test_two_columns_of_one_name_are_refused(reader: Any) -> None:
    table = pa.Table.from_arrays([pa.array([1]), pa.array([2])], ["x", "x"])
    with pytest.raises(Terminal) as refused:
        reader.scan(content_of(table), PARQUET)
    assert refused.value.code == "source.column_repeated"


def test_a_missing_declared_column_is_named(reader: Any) -> None:
    with pytest.raises(Terminal, match="'y'") as refused:
        reader.scan(content_of(pa.table({"x": [1]})), PARQUET, [SourceColumn(name="y", type="string")])
    assert refused.value.code == "source.column_missing"


@pytest.mark.parametrize("content", [b"", b"PAR1", b"a,b\n1,2\n", content_of(pa.table({"x": [1]}))[:-6]])
def test_what_is_no_parquet_is_refused(reader: Any, content: bytes) -> None:
    with pytest.raises(Terminal) as refused:
        reader.scan(content, PARQUET)
    assert refused.value.code == "source.malformed"


def test_a_broken_page_fails_the_scan(reader: Any) -> None:
    content = bytearray(content_of(pa.table({"x": [f"value {n}" for n in range(1000)]}), 1000))
    content[50:5000] = b"\xff" * 4950
    with pytest.raises(Terminal) as refused:
        reader.scan(bytes(content), PARQUET)
    assert refused.value.code == "source.malformed"


def test_a_file_that_changed_is_not_read(reader: Any) -> None:
    scan = reader.scan(content_of(pa.table({"x": [1]})), PARQUET)
    os.utime(scan.file.path, ns=(1, 1))
    with pytest.raises(Transient):
        reader.read(scan, PARQUET)
