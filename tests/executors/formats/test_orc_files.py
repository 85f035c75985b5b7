"""ORC: types are preserved, what cannot be read exactly is refused, and batches are bounded by the footer."""

from __future__ import annotations

import datetime as dt
import gzip
import io
import json
from collections.abc import Callable
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyarrow import orc as orc_files

from executors.detection import detect
from executors.errors import Terminal
from executors.formats import orc, orc_footer
from executors.formats.orc_footer import read_footer
from executors.types import wire_type
from ir.formats import Orc
from ir.nodes import SourceColumn
from tests.executors.formats.conftest import FileReader

ORC = Orc(type="orc")
APACHE = Path(pa.__file__).parent / "tests/data/orc"
"""Files of the ORC project with their rows as JSON, which pyarrow ships."""


def content_of(table: pa.Table, **how: Any) -> bytes:
    out = io.BytesIO()
    orc_files.write_table(table, out, **how)
    return out.getvalue()


ROOT = Path(__file__).parents[3]
MOMENT = dt.datetime(2024, 2, 29, 12, 30, 15, 123456)
COLUMNS: list[tuple[pa.Array, str, list[Any]]] = [
    (pa.array([1, None], pa.int8()), "integer", [1, None]),
    (pa.array([-(2**63), None], pa.int64()), "bigint", [-(2**63), None]),
    (pa.array([1.5, None], pa.float32()), "float", [1.5, None]),
    (pa.array([True, None]), "boolean", [True, None]),
    (pa.array([Decimal("1.50"), None], pa.decimal128(10, 2)), "decimal(10,2)", [Decimal("1.50"), None]),
    (pa.array([Decimal("9" * 38), None], pa.decimal128(38, 0)), "decimal(38,0)", [Decimal("9" * 38), None]),
    (pa.array(["Ж", None]), "string", ["Ж", None]),
    (pa.array([b"\0a", None], pa.binary()), "binary", [b"\0a", None]),
    (pa.array([dt.date(1, 1, 1), None], pa.date32()), "date", [dt.date(1, 1, 1), None]),
    (pa.array([MOMENT, None], pa.timestamp("us")), "timestamp", [MOMENT, None]),
    (pa.array([MOMENT, None], pa.timestamp("us", "UTC")), "timestamptz", [MOMENT.replace(tzinfo=dt.UTC), None]),
    (pa.array([[1, 2], None]), "json", ["[1, 2]", None]),
    (pa.array([{"a": Decimal("1.10")}, None]), "json", ['{"a": "1.10"}', None]),
    (pa.array([[("k", 1)], []], pa.map_(pa.string(), pa.int64())), "json", ['{"k": 1}', "{}"]),
]


@pytest.mark.parametrize(("values", "kind", "expected"), COLUMNS, ids=[str(values.type) for values, _, _ in COLUMNS])
def test_types_are_preserved(reader: FileReader, values: pa.Array, kind: str, expected: list[Any]) -> None:
    scan = reader.scan(content_of(pa.table({"x": values})), ORC)
    assert str(scan.fields[0].type) == kind
    batch = next(iter(orc.read(scan.splits[0], ORC, scan.fields)))
    assert batch.schema.field("x").type == wire_type(scan.fields[0].type).arrow
    assert batch.column("x").to_pylist() == expected


@pytest.mark.parametrize(
    "name", [pytest.param("TestOrcFile.testDate1900", marks=pytest.mark.slow), "decimal", "TestOrcFile.emptyFile"]
)
def test_files_of_the_orc_project_have_their_rows(reader: FileReader, name: str) -> None:
    rows = reader.rows((APACHE / f"{name}.orc").read_bytes(), ORC)
    with gzip.open(APACHE / f"{name}.jsn.gz", "rt") as lines:
        expected = [json.loads(line, parse_float=Decimal) for line in lines]
    assert [[_comparable(value) for value in row.values()] for row in rows] == [
        [_comparable(value) for value in row.values()] for row in expected
    ]


def _comparable(value: Any) -> Any:
    """A timestamp, and its text without zeros at the end, are the same."""
    if isinstance(value, dt.datetime):
        return f"{value:%Y-%m-%d %H:%M:%S}.{value:%f}".rstrip("0")
    return (
        str(value).rstrip("0")
        if isinstance(value, str) and ":" in value
        else str(value)
        if isinstance(value, dt.date)
        else value
    )


@pytest.mark.parametrize("compression", ["uncompressed", "zlib", "snappy", "zstd"])
def test_every_codec_is_read_in_batches(reader: FileReader, compression: str) -> None:
    table = pa.table({"n": range(5000), "t": [str(n) * 20 for n in range(5000)]})
    scan = reader.scan(content_of(table, compression=compression), ORC)
    batches = list(orc.read(scan.splits[0], ORC, scan.fields, block_bytes=20_000))
    assert [n for batch in batches for n in batch.column("n").to_pylist()] == list(range(5000))
    assert [n for batch in batches for n in batch.column("_flow_record").to_pylist()] == list(range(1, 5001))
    assert max(batch.nbytes for batch in batches) < 150_000


def test_the_head_has_the_columns_and_all_rows(reader: FileReader) -> None:
    scan = orc.scan_head(reader.file(content_of(pa.table({"n": range(50)}))), ORC, most_bytes=10)
    assert (scan.records, [field.name for field in scan.fields]) == (50, ["n"])
    assert len(reader.read(scan, ORC)) == 50


@pytest.mark.parametrize("year", [1600, 2500])
@pytest.mark.parametrize("nested", [False, True])
def test_timestamps_that_the_library_wraps_around_are_refused(reader: FileReader, year: int, nested: bool) -> None:
    values = pa.array([dt.datetime(2024, 1, 1), dt.datetime(year, 1, 1)], pa.timestamp("us"))
    column = pa.StructArray.from_arrays([values], ["t"]) if nested else values
    with pytest.raises(Terminal, match="timestamps before 1678 or after 2261") as refused:
        reader.scan(content_of(pa.table({"x": column})), ORC)
    assert refused.value.code == "source.type_unsupported"


def test_timestamps_without_statistics_are_refused() -> None:
    """Their range is unknown, so the library could return others."""
    with pytest.raises(Terminal, match="without statistics") as refused:
        orc_footer._refuse_far_times([{1: [12]}, {1: [9]}], [], "x")
    assert refused.value.code == "source.type_unsupported"


def of_spark(name: str) -> bytes:
    """Return a file that Spark 4.3 wrote in the time zone of New York (tests/fixtures/orc/README.md)."""
    return (ROOT / "tests/fixtures/orc" / name).read_bytes()


def test_days_in_the_julian_calendar_are_refused(reader: FileReader) -> None:
    with pytest.raises(Terminal, match="before 15 October 1582") as refused:
        reader.scan(of_spark("julian.orc"), ORC)
    assert refused.value.code == "source.type_unsupported"


def test_times_that_the_libraries_round_differently_make_bad_rows(
    reader: FileReader, bad_rows: Callable[..., Any]
) -> None:
    scan = reader.scan(of_spark("times.orc"), ORC)
    rows = reader.read(scan, ORC)
    reason = "column 't' is a time near 1970 that cannot be read exactly from ORC"
    assert [(record, why) for record, why, _ in bad_rows(rows)] == [(1, reason)]
    assert [(row["c"], row["t"], row["d"]) for row in rows[1:]] == [
        ("     ", dt.datetime(1960, 7, 1, 12, 0, 0, 500000), dt.date(1582, 10, 15)),
        (None, dt.datetime(2024, 3, 10, 3, 30, 0, 1), dt.date(1582, 10, 15)),
        ("é    ", dt.datetime(1970, 1, 1), dt.date(2024, 2, 29)),
        ("é    ", dt.datetime(1883, 11, 18), None),
    ]


def test_nanoseconds_that_would_be_cut_make_a_bad_row(reader: FileReader) -> None:
    table = pa.table({"t": pa.array([1000, 1500, None], pa.timestamp("ns")), "x": ["a", "b", "c"]})
    rows = reader.read(reader.scan(content_of(table), ORC), ORC)
    assert [row["_flow_bad"] for row in rows] == [None, "column 't' does not fit timestamp", None]
    assert rows[1]["_flow_raw"] == "t: 1970-01-01 00:00:00.0000015; x: b"


def test_a_missing_declared_column_is_named(reader: FileReader) -> None:
    with pytest.raises(Terminal, match="'y'") as refused:
        reader.scan(content_of(pa.table({"x": [1]})), ORC, [SourceColumn(name="y", type="string")])
    assert refused.value.code == "source.column_missing"


WHOLE = content_of(pa.table({"x": range(100)}))


@pytest.mark.parametrize("content", [b"", b"ORC", b"a,b\n1,2\n", WHOLE[:-6], WHOLE[:-1], WHOLE[: len(WHOLE) // 2]])
def test_what_is_no_orc_is_refused(reader: FileReader, content: bytes) -> None:
    with pytest.raises(Terminal) as refused:
        reader.scan(content, ORC)
    assert refused.value.code == "source.malformed"


def test_a_damaged_stripe_fails_the_reading(reader: FileReader) -> None:
    content = bytearray(content_of(pa.table({"x": [f"value {n}" for n in range(5000)]}), compression="zlib"))
    content[100:300] = b"\xff" * 200
    scan = reader.scan(bytes(content), ORC)
    with pytest.raises(Terminal) as refused:
        reader.read(scan, ORC)
    assert refused.value.code == "source.malformed"


@pytest.mark.slow
def test_the_footer_bounds_batches(reader: FileReader) -> None:
    """One text of 1 MB in 200 rows takes some KB in the file."""
    content = content_of(
        pa.table({"x": ["x" * (1 << 20)] * 200}), compression="zstd", dictionary_key_size_threshold=1.0
    )
    footer = read_footer(io.BytesIO(content), len(content), "x")
    assert footer.bytes is not None
    assert footer.bytes > 200 << 20
    scan = reader.scan(content, ORC)
    assert max(batch.num_rows for batch in orc.read(scan.splits[0], ORC, scan.fields)) <= 8


@pytest.mark.parametrize("is_whole", [True, False])
def test_the_columns_are_detected_in_whole_files(is_whole: bool) -> None:
    found = detect(WHOLE if is_whole else WHOLE[:50], "x.orc", is_whole=is_whole)
    assert found.format.type == "orc"
    assert [column.type for column in found.columns] == (["bigint"] if is_whole else [])
    assert [problem.code for problem in found.problems] == ([] if is_whole else ["columns.not_read"])


def test_a_text_that_begins_with_the_same_letters_is_text() -> None:
    assert detect(b"ORC,name\n1,a\n", "x.csv", is_whole=True).format.type == "csv"
