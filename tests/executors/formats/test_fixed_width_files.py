"""Text of fixed width: columns by position, lines that do not fit are bad rows."""

from __future__ import annotations

import gzip
from collections.abc import Callable
from typing import Any

import pytest

from executors.detection import GivenSettings, detect, fit
from executors.errors import Terminal
from executors.formats import fixed_width
from ir.diagnostics import Diagnostic
from ir.formats import FixedWidth
from ir.nodes import SourceColumn
from ir.pointers import ROOT
from tests.executors.formats.conftest import FileReader


def format_of(*columns: Any, **settings: Any) -> FixedWidth:
    named = [dict(zip(("name", "width", "start"), column, strict=False)) for column in columns]
    return FixedWidth.read({"type": "fixed_width", "columns": named, **settings})


FIXED = format_of(("id", 3), ("name", 6), ("day", 10))
TEXT = b"  1Ann   2024-01-31\n 10Bob   2024-02-29\n"
ROWS = [{"id": "1", "name": "Ann", "day": "2024-01-31"}, {"id": "10", "name": "Bob", "day": "2024-02-29"}]


@pytest.mark.parametrize(
    "content",
    [
        TEXT,
        TEXT.replace(b"\n", b"\r\n"),
        TEXT.rstrip(b"\n"),
        b"\xef\xbb\xbf" + TEXT,
        b"\n" + TEXT + b"\n",
        gzip.compress(TEXT),
    ],
    ids=["LF", "CRLF", "no end", "mark", "empty lines", "gzip"],
)
def test_columns_are_cut_by_position(reader: FileReader, content: bytes) -> None:
    assert reader.rows(content, FIXED) == ROWS


def test_positions_count_characters_in_any_encoding(reader: FileReader) -> None:
    text = "éé ЖЖ1\nab cd2\n"
    rows = [{"a": "éé", "b": "ЖЖ", "c": "1"}, {"a": "ab", "b": "cd", "c": "2"}]
    for encoding in ("utf-8", "utf-16"):
        fmt = format_of(("a", 3), ("b", 2), ("c", 1), encoding=encoding)
        assert reader.rows(text.encode(encoding), fmt) == rows


def test_columns_may_have_gaps_and_any_order(reader: FileReader) -> None:
    fmt = format_of(("last", 1, 9), ("first", 2, 1), ("second", 2))
    assert reader.rows(b"abcdefghi\n", fmt) == [{"last": "i", "first": "ab", "second": "cd"}]


def test_blanks_are_null_or_kept(reader: FileReader) -> None:
    content = b" a   NA\n"
    assert reader.rows(content, format_of(("x", 3), ("y", 2), ("z", 2), nullValues=["NA"])) == [
        {"x": "a", "y": None, "z": None}
    ]
    assert reader.rows(content, format_of(("x", 3), ("y", 2), trim=False, nullValues=["NA"])) == []
    fmt = format_of(("x", 3), ("y", 2), ("z", 2), trim=False)
    assert reader.rows(content, fmt) == [{"x": " a ", "y": "  ", "z": "NA"}]


def test_lines_that_do_not_fit_are_bad(reader: FileReader, bad_rows: Callable[..., Any]) -> None:
    content = TEXT + b"  2Cy\n  3Dan   2024-01-31x\n  4Eve   2024-01-31   \n  5\xff\xff\xff   2024-01-31\n"
    rows = reader.read(reader.scan(content, FIXED), FIXED)
    assert [row["id"] for row in rows] == ["1", "10", None, None, "4", None]
    assert bad_rows(rows) == [
        (3, "expected 19 characters, found 5", "  2Cy"),
        (4, "expected 19 characters, found 20", "  3Dan   2024-01-31x"),
        (6, "not valid utf-8", "  5\\xff\\xff\\xff   2024-01-31"),
    ]


@pytest.mark.parametrize("encoding", ["utf-8", "latin-1"])
def test_splits_and_lines_before_the_rows(reader: FileReader, encoding: str) -> None:
    content = b"id \n---\n" + b"".join(b"%3d\n" % n for n in range(900))
    fmt = format_of(("id", 3), skipLines=2, encoding=encoding)
    scan = reader.scan(content, fmt, split_bytes=1000)
    assert (scan.records, scan.first_line, len(scan.splits)) == (900, 3, 4 if encoding == "utf-8" else 1)
    rows = reader.read(scan, fmt, block_bytes=100)
    assert [(row["_flow_record"], row["id"]) for row in rows] == [(n + 1, str(n)) for n in range(900)]
    head = fixed_width.scan_head(reader.file(content), fmt, most_bytes=100)
    assert [row["id"] for row in reader.read(head, fmt)[: head.records]] == [str(n) for n in range(head.records)]
    assert head.records == 22


def test_a_blank_file_and_one_with_a_header_only(reader: FileReader) -> None:
    assert reader.scan(b"\n\n", FIXED).is_blank
    assert reader.scan(b"id\n", format_of(("id", 2), skipLines=1)).records == 0


def test_a_missing_declared_column_is_named(reader: FileReader) -> None:
    with pytest.raises(Terminal, match="'y'") as refused:
        reader.scan(TEXT, FIXED, [SourceColumn(name="y", type="string")])
    assert refused.value.code == "source.column_missing"


def test_a_column_is_declared_once() -> None:
    [found] = format_of(("a", 1), ("a", 1)).check(ROOT)
    assert isinstance(found, Diagnostic)
    assert (found.code, str(found.path)) == ("column.repeated", "/columns/1/name")


# --- detection ---------------------------------------------------------------------------------------------------

TABLE = b"".join(
    b"%-6s%-9s%8.2f  %s\n" % row
    for row in [
        (b"id", b"name", 0, b"day       "),
        (b"1", b"Ann", 12.5, b"2024-01-31"),
        (b"20", b"Bob", 1200, b"2024-02-01"),
        (b"300", b"Cy Young", 0.25, b"2024-02-29"),
    ]
).replace(b"    0.00", b"   total")


def test_columns_are_detected_by_their_gaps() -> None:
    found = detect(TABLE, "x.txt", is_whole=True)
    document = found.format.to_document()
    assert [(column["name"], column["width"]) for column in document["columns"]] == [
        ("id", 6),
        ("name", 8),
        ("total", 11),  # with the blanks before it: other lines may hold longer numbers
        ("day", 10),
    ]
    assert (document["type"], document["skipLines"]) == ("fixed_width", 1)
    assert [column.type for column in found.columns] == ["integer", "string", "decimal(18,2)", "date"]
    assert found.rows[2] == ("300", "Cy Young", "0.25", "2024-02-29")


OTHERS = [
    b"a,b \n1,2 \n3,4 \n",
    b"2024-01-01 10:00\n2024-01-01 11:00\n2024-01-01 12:00\n",
    b"one\ntwo\nsix\n",
]


@pytest.mark.parametrize("text", OTHERS)
def test_other_texts_are_not_taken_for_fixed_width(text: bytes) -> None:
    assert detect(text, "x.txt", is_whole=True).format.type == "csv"


def test_a_given_type_is_used() -> None:
    found = detect(b"ab 1\ncd 2\n", "x", is_whole=True, given=GivenSettings(type="fixed_width"))
    assert [column.type for column in found.columns] == ["string", "integer"]
    with pytest.raises(Terminal, match="different lengths"):
        detect(b"ab 1\ncd\n", "x", is_whole=True, given=GivenSettings(type="fixed_width"))


def test_types_are_tried_on_the_rows() -> None:
    fmt = format_of(("id", 3), ("name", 6), ("day", 10))
    tried = fit(TEXT, "x", is_whole=True, fmt=fmt, columns=[SourceColumn(name="day", type="date")])
    assert [column.misfits for column in tried.columns] == [0]
