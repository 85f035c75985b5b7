"""The scan, the reader and Python's csv module find the same records in the same bytes, for all splits."""

from __future__ import annotations

import csv
import hashlib
import io
import re
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from executors.errors import Terminal
from ir.formats import Csv
from tests.properties import examples

CSV = Csv(type="csv", header=False)
SIZES = st.integers(1, 40)

piece = st.sampled_from(['"', '""', ",", ",,", "\n", "\r\n", "\r", "\n\n", " ", "a", "bc", "é", "\0", "😀", "NA"])
soup = st.lists(piece, max_size=30).map("".join)
cell = st.text(st.sampled_from('ab"\n\r,é '), max_size=6)
tables = st.lists(st.lists(cell, min_size=3, max_size=3), min_size=1, max_size=8)


def written(value: str, always: bool) -> str:
    return '"' + value.replace('"', '""') + '"' if always or set(value) & set('",\r\n') else value


def by_python(text: str) -> list[list[str]]:
    return [record for record in csv.reader(io.StringIO(text, newline="")) if record]


def by_flow(reader: Any, content: bytes, fmt: Csv, split_bytes: int, block_bytes: int) -> tuple[Any, list[Any]]:
    scan = reader.scan(content, fmt, split_bytes=split_bytes, block_bytes=block_bytes)
    return scan, reader.read(scan, fmt, block_bytes=block_bytes)


def cells(row: dict[str, Any]) -> list[str]:
    """Return a row as Python's module reads it, which has no NULL."""
    return [value or "" for name, value in row.items() if not name.startswith("_flow_")]


@settings(max_examples=examples(300))
@given(text=soup, split_bytes=SIZES, block_bytes=SIZES, bom=st.booleans())
def test_any_bytes_give_pythons_records(reader: Any, text: str, split_bytes: int, block_bytes: int, bom: bool) -> None:
    content = b"\xef\xbb\xbf" * bom + text.encode()
    expected = by_python(text)
    try:
        scan, rows = by_flow(reader, content, CSV, split_bytes, block_bytes)
    except Terminal as error:
        assert error.code == "source.quote_not_closed"  # noqa: PT017
        return
    assert scan.records == len(expected) == len(rows)
    assert scan.sha256 == hashlib.sha256(content).hexdigest()
    assert [row["_flow_record"] for row in rows] == list(range(1, len(rows) + 1))
    width = len(expected[0]) if expected else 0
    for row, record in zip(rows, expected, strict=True):
        if len(record) == width:
            assert (row["_flow_bad"], cells(row)) == (None, record)
        else:
            assert row["_flow_bad"] == f"expected {width} cells, found {len(record)}"
            assert by_python(row["_flow_raw"]) == [record]


@settings(max_examples=examples(200))
@given(
    table=tables,
    split_bytes=SIZES,
    block_bytes=SIZES,
    end=st.sampled_from(["\n", "\r\n", "\r"]),
    quote_all=st.booleans(),
    blank=st.booleans(),
    last=st.booleans(),
)
def test_what_a_csv_writer_writes_comes_back(
    reader: Any,
    table: list[list[str]],
    split_bytes: int,
    block_bytes: int,
    end: str,
    quote_all: bool,
    blank: bool,
    last: bool,
) -> None:
    lines = [",".join(written(value, quote_all) for value in record) for record in [["x", "y", "z"], *table]]
    text = (end * (1 + blank)).join(lines) + end * last
    scan, rows = by_flow(reader, text.encode(), Csv(type="csv"), split_bytes, block_bytes)
    assert scan.records == len(table)
    assert [cells(row) for row in rows] == table


@given(table=tables, split_bytes=SIZES)
def test_splits_follow_each_other_without_gap(reader: Any, table: list[list[str]], split_bytes: int) -> None:
    out = io.StringIO(newline="")
    csv.writer(out, quoting=csv.QUOTE_ALL).writerows([["x", "y", "z"], *table])
    splits = reader.scan(out.getvalue().encode(), Csv(type="csv"), split_bytes=split_bytes).splits
    assert [split.start for split in splits[1:]] == [split.end for split in splits[:-1]]
    assert [split.first_record for split in splits] == [
        1 + sum(s.records for s in splits[:at]) for at in range(len(splits))
    ]
    assert sum(split.records for split in splits) == len(table)


def test_splits_are_about_as_big_as_asked_for(reader: Any) -> None:
    content = b"a,b\n" + b"1234,6789\n" * 10_000
    splits = reader.scan(content, Csv(type="csv"), split_bytes=25_000).splits
    assert len(splits) == 5
    assert {round((split.end - split.start) / 20_000, 1) for split in splits} == {1.0}


@settings(max_examples=examples(200))
@given(
    records=st.lists(
        st.sampled_from([b"a,b", b"\xff,b", b'"x\n\xfe",b', b"a", b"a,b,c", b'"q""",', b"\xc3\xa9,b"]), max_size=12
    ),
    split_bytes=SIZES,
    block_bytes=SIZES,
)
def test_broken_and_ragged_records_keep_their_place(
    reader: Any, records: list[bytes], split_bytes: int, block_bytes: int
) -> None:
    scan, rows = by_flow(reader, b"\n".join([b"x,y", *records]), Csv(type="csv"), split_bytes, block_bytes)
    assert scan.records == len(records)
    for row, record in zip(rows, records, strict=True):
        try:
            expected = by_python(record.decode())[0]
        except UnicodeDecodeError:
            assert row["_flow_bad"] == "not valid utf-8"
            continue
        if len(expected) == 2:
            assert (row["_flow_bad"], cells(row)) == (None, expected)
        else:
            assert row["_flow_bad"] == f"expected 2 cells, found {len(expected)}"


@settings(max_examples=examples(300))
@given(text=soup, block_bytes=SIZES)
def test_line_numbers_are_known_just_where_every_line_is_a_record(reader: Any, text: str, block_bytes: int) -> None:
    lines = re.split("\r\n|\r|\n", text)
    lines = lines[:-1] if lines[-1] == "" else lines
    try:
        scan = reader.scan(text.encode(), CSV, block_bytes=block_bytes)
    except Terminal as error:
        assert error.code == "source.quote_not_closed"  # noqa: PT017
        return
    assert (scan.first_line == 1) is (len(by_python(text)) == len(lines))
