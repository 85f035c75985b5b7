"""The values of cells in CSV and TSV, and the names of columns."""

from __future__ import annotations

import dataclasses
import os
from collections.abc import Callable
from typing import Any

import pytest

from executors.errors import Terminal, Transient
from executors.formats import csv as csv_format
from executors.formats import records
from executors.model import SourceField
from ir.formats import Csv, Tsv
from ir.nodes import SourceColumn
from ir.types import STRING

CSV = Csv(type="csv")


def declared(*names: str) -> list[SourceColumn]:
    return [SourceColumn(name=name, type="string") for name in names]


@pytest.mark.parametrize("end", [b"\n", b"\r\n", b"\r"])
def test_line_breaks_and_doubled_quotes_stay_inside_quoted_cells(reader: Any, end: bytes) -> None:
    content = end.join([b"id,name", b'1,"a' + end + b'b"', b'2,"say ""hi"""', b'3,"x,y"', b""])
    assert reader.rows(content, CSV) == [
        {"id": "1", "name": "a" + end.decode() + "b"},
        {"id": "2", "name": 'say "hi"'},
        {"id": "3", "name": "x,y"},
    ]


def test_an_empty_cell_is_null_and_a_quoted_one_is_not(reader: Any) -> None:
    assert reader.rows(b'a,b,c\n,"",x\n', CSV) == [{"a": None, "b": "", "c": "x"}]


def test_null_values_apply_to_unquoted_cells_only(reader: Any) -> None:
    fmt = Csv(type="csv", null_values=["NA", "-"])
    assert reader.rows(b'a,b,c\nNA,"NA",-\n', fmt) == [{"a": None, "b": "NA", "c": None}]


def test_a_quote_inside_a_cell_is_text(reader: Any) -> None:
    assert reader.rows(b'a,b\n5" pipe,6" tube\n', CSV) == [{"a": '5" pipe', "b": '6" tube'}]


def test_a_backslash_is_text(reader: Any) -> None:
    assert reader.rows(b'a,b\n"\\",\\n\n', CSV) == [{"a": "\\", "b": "\\n"}]


def test_tabs_other_delimiters_and_other_quotes(reader: Any) -> None:
    assert reader.rows(b"a\tb\n1,5\t'x'\n", Tsv(type="tsv", quote="'")) == [{"a": "1,5", "b": "x"}]
    assert reader.rows(b"a;b\n1,5;2\n", Csv(type="csv", delimiter=";")) == [{"a": "1,5", "b": "2"}]


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "cp1252"])
@pytest.mark.parametrize(("header", "names"), [("id;name\r\n", ("id", "name")), ("", ("column_1", "column_2"))])
def test_a_first_line_that_names_the_delimiter_is_no_row(
    reader: Any, encoding: str, header: str, names: tuple[str, str]
) -> None:
    content = f"sep=;\r\n{header}1;a\r\n2;b\r\n".encode(encoding)
    fmt = Csv(type="csv", delimiter=";", encoding=encoding, header=bool(header))
    assert reader.rows(content, fmt) == [dict(zip(names, row, strict=True)) for row in (("1", "a"), ("2", "b"))]
    assert reader.scan(content, fmt).first_line == (3 if header else 2)


def test_a_file_of_a_delimiter_line_alone_is_blank(reader: Any) -> None:
    scan = reader.scan(b"sep=;\n", Csv(type="csv", delimiter=";"))
    assert (scan.records, scan.is_blank, scan.splits) == (0, True, ())


def test_a_second_file_with_other_column_order_is_read_by_name(reader: Any) -> None:
    first = reader.scan(b"id,name\n1,Ann\n", CSV)
    second = dataclasses.replace(reader.scan(b"name,id,extra\nZed,9,x\n", CSV), fields=first.fields)
    row = reader.read(second, CSV)[0]
    assert (row["id"], row["name"]) == ("9", "Zed")


def test_a_column_that_this_file_lacks_is_null(reader: Any) -> None:
    scan = reader.scan(b"id\n1\n", CSV)
    wider = dataclasses.replace(scan, fields=(SourceField("other", STRING), *scan.fields))
    assert [(row["other"], row["id"]) for row in reader.read(wider, CSV)] == [(None, "1")]


def test_no_column_wanted_still_counts_the_rows(reader: Any) -> None:
    scan = dataclasses.replace(reader.scan(b"id\n1\n2\n", CSV), fields=(SourceField("other", STRING),))
    assert [row["_flow_record"] for row in reader.read(scan, CSV)] == [1, 2]


# --- bad records ---------------------------------------------------------------------------------------------


def test_ragged_records_are_bad_rows_with_number_and_raw_text(reader: Any, bad_rows: Callable[..., Any]) -> None:
    rows = reader.read(reader.scan(b'a,b\n1,2\n\n3\n4,"5\n",6\n7,8\n', CSV), CSV)
    assert bad_rows(rows) == [(2, "expected 2 cells, found 1", "3"), (3, "expected 2 cells, found 3", '4,"5\n",6')]
    assert [row["a"] for row in rows] == ["1", None, None, "7"]


def test_only_ragged_records(reader: Any, bad_rows: Callable[..., Any]) -> None:
    rows = reader.read(reader.scan(b"a,b\n1\n2,3,4\n", CSV), CSV)
    assert bad_rows(rows) == [(1, "expected 2 cells, found 1", "1"), (2, "expected 2 cells, found 3", "2,3,4")]


def test_broken_text_is_a_bad_row_with_its_bytes_escaped(reader: Any, bad_rows: Callable[..., Any]) -> None:
    rows = reader.read(reader.scan(b"a,b\n\xc3\xa9,1\n\xff,2\nx,3\n", CSV), CSV)
    assert bad_rows(rows) == [(2, "not valid utf-8", "\\xff,2")]
    assert [row["a"] for row in rows] == ["é", None, "x"]


def test_only_broken_records(reader: Any, bad_rows: Callable[..., Any]) -> None:
    rows = reader.read(reader.scan(b"a,b\n\xff,2\n", CSV), CSV)
    assert bad_rows(rows) == [(1, "not valid utf-8", "\\xff,2")]


def test_a_quote_that_is_never_closed_fails_the_file(reader: Any) -> None:
    with pytest.raises(Terminal, match="is not closed") as refused:
        reader.scan(b'a,b\n1,2\n3,"4\n5,6\n', CSV)
    assert refused.value.code == "source.quote_not_closed"
    assert "record 2" in refused.value.message


def test_a_line_longer_than_a_block_is_read(reader: Any) -> None:
    content = b"a,b\n1," + b"x" * 300_000 + b"\n2,y\n"
    rows = reader.read(reader.scan(content, CSV, block_bytes=1000), CSV, block_bytes=1000)
    assert [len(row["b"]) for row in rows] == [300_000, 1]


def test_a_record_beyond_the_limit_is_refused(reader: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(records, "MOST_RECORD_BYTES", 100)
    scan = reader.scan(b"a,b\n1,2\n3," + b"x" * 200 + b"\n", CSV)
    with pytest.raises(Terminal) as refused:
        reader.read(scan, CSV, block_bytes=50)
    assert refused.value.code == "source.record_too_long"


# --- names ---------------------------------------------------------------------------------------------------


def names_of(reader: Any, content: bytes, fmt: Any = CSV, columns: Any = ()) -> list[str]:
    return [field.name for field in reader.scan(content, fmt, columns).fields]


def test_blank_and_repeated_headers_get_names_and_warnings(reader: Any) -> None:
    scan = reader.scan(b"a,,a, ,a\n1,2,3,4,5\n", CSV)
    assert [field.name for field in scan.fields] == ["a", "column_2", "a_2", "column_4", "a_3"]
    assert len(scan.warnings) == 4
    assert reader.read(scan, CSV)[0]["a_3"] == "5"


@pytest.mark.parametrize(
    ("header", "names"),
    [
        (b"a,a,a_2", ["a", "a_3", "a_2"]),
        (b"a_2,a,a", ["a_2", "a", "a_3"]),
        (b",column_1", ["column_1_2", "column_1"]),
        (b"A,a", ["A", "a"]),
        (b'"x\ny","q""r"', ["x\ny", 'q"r']),
        ("größe,名前".encode(), ["größe", "名前"]),
    ],
)
def test_made_up_names_never_collide(reader: Any, header: bytes, names: list[str]) -> None:
    assert names_of(reader, header + b"\n" + b"1," * (len(names) - 1) + b"1\n") == names


def test_without_header_names_come_from_the_declared_columns_in_order(reader: Any) -> None:
    fmt = Csv(type="csv", header=False)
    assert names_of(reader, b"1,2,3\n", fmt, declared("x", "y")) == ["x", "y", "column_3"]
    assert reader.rows(b"1,2,3\n", fmt, declared("x", "y")) == [{"x": "1", "y": "2", "column_3": "3"}]


def test_a_blank_file_lacks_no_declared_column(reader: Any) -> None:
    scan = reader.scan(b"\n\n", CSV, declared("id"))
    assert (scan.is_blank, scan.records, [field.name for field in scan.fields]) == (True, 0, ["id"])


def test_a_declared_column_that_is_missing_is_named(reader: Any) -> None:
    with pytest.raises(Terminal, match="'nope'") as refused:
        reader.scan(b"a,b\n1,2\n", CSV, declared("nope"))
    assert refused.value.code == "source.column_missing"


def test_names_of_our_own_columns_are_refused(reader: Any) -> None:
    with pytest.raises(Terminal) as refused:
        reader.scan(b"_flow_file,b\n1,2\n", CSV)
    assert refused.value.code == "source.column_reserved"


@pytest.mark.parametrize("content", [b"", b"\n\r\n", b"\xef\xbb\xbf"])
def test_a_file_without_a_record_has_no_columns(reader: Any, content: bytes) -> None:
    scan = reader.scan(content, CSV)
    assert (scan.records, scan.fields, scan.splits) == (0, (), ())


def test_a_header_alone_is_an_empty_source(reader: Any) -> None:
    scan = reader.scan(b"a,b\n", CSV, declared("a"))
    assert (scan.records, len(scan.fields), scan.splits) == (0, 2, ())


# --- encodings -----------------------------------------------------------------------------------------------

TEXT = 'name,n\r\n"Gr\u00fc\u00dfe\n€",1\r\nx,2\r\n'


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "utf-16-le", "utf-16-be", "cp1252", "utf-32"])
@pytest.mark.parametrize("block_bytes", [1, 3, 4096])
def test_encodings_are_read(reader: Any, encoding: str, block_bytes: int) -> None:
    fmt = Csv(type="csv", encoding=encoding)
    scan = reader.scan(TEXT.encode(encoding), fmt, block_bytes=block_bytes)
    rows = reader.read(scan, fmt, block_bytes=block_bytes)
    assert [(row["_flow_record"], row["name"], row["n"]) for row in rows] == [(1, "Grüße\n€", "1"), (2, "x", "2")]


def test_text_that_grows_in_utf8_is_still_one_split(reader: Any) -> None:
    fmt = Csv(type="csv", encoding="latin-1")
    scan = reader.scan(b"a\n" + b"\xe9\n" * 1000, fmt, split_bytes=10)
    assert [(split.first_record, split.records) for split in scan.splits] == [(1, 1000)]
    assert [row["_flow_record"] for row in reader.read(scan, fmt, block_bytes=64)] == list(range(1, 1001))


def test_bytes_that_an_encoding_lacks_are_a_bad_row(reader: Any, bad_rows: Callable[..., Any]) -> None:
    fmt = Csv(type="csv", encoding="cp1252")
    rows = reader.read(reader.scan(b"a,b\n\x81,1\n\x80,2\n", fmt), fmt)
    assert bad_rows(rows) == [(1, "not valid cp1252", "\\xff,1")]
    assert rows[1]["a"] == "€"


def test_other_text_under_the_name_of_utf_16_is_refused(reader: Any) -> None:
    with pytest.raises(Terminal) as refused:
        reader.scan(TEXT.encode(), Csv(type="csv", encoding="utf-16"))
    assert refused.value.code == "source.encoding_differs"


def test_utf_16_under_the_name_of_utf_8_is_refused(reader: Any) -> None:
    with pytest.raises(Terminal) as refused:
        reader.scan(TEXT.encode("utf-16"), CSV)
    assert refused.value.code == "source.encoding_differs"


@pytest.mark.parametrize("encoding", ["nope", "hex", "rot13"])
def test_an_unknown_encoding_is_refused(reader: Any, encoding: str) -> None:
    with pytest.raises(Terminal) as refused:
        reader.scan(b"a\n1\n", Csv(type="csv", encoding=encoding))
    assert refused.value.code == "source.encoding_unknown"


@pytest.mark.parametrize(
    ("fmt", "code"),
    [
        (Csv(type="csv", delimiter="\n"), "source.delimiter_unusable"),
        (Csv(type="csv", delimiter="¦"), "source.delimiter_unusable"),
        (Csv(type="csv", delimiter='"'), "source.delimiter_unusable"),
        (Csv(type="csv", quote="“"), "source.quote_unusable"),
    ],
)
def test_unusable_signs_are_refused(reader: Any, fmt: Csv, code: str) -> None:
    with pytest.raises(Terminal) as refused:
        reader.scan(b"a\n1\n", fmt)
    assert refused.value.code == code


def test_a_header_in_another_encoding_is_refused(reader: Any) -> None:
    with pytest.raises(Terminal) as refused:
        reader.scan(b"gr\xfcn,b\n1,2\n", CSV)
    assert refused.value.code == "source.header_unreadable"


# --- files that move -----------------------------------------------------------------------------------------


def test_a_file_that_changed_after_the_scan_is_not_read(reader: Any) -> None:
    scan = reader.scan(b"a\n1\n", CSV)
    os.utime(scan.file.path, ns=(1, 1))
    with pytest.raises(Transient) as failure:
        reader.read(scan, CSV)
    assert failure.value.code == "source.changed"


def test_a_file_that_grows_while_it_is_read_fails_the_read(reader: Any) -> None:
    scan = reader.scan(b"a\n1\n2\n", CSV)
    batches = csv_format.read(scan.splits[0], CSV, scan.fields)
    next(batches)
    with open(scan.file.path, "ab") as file:
        file.write(b"3\n")
    with pytest.raises(Transient):
        list(batches)


def test_a_file_that_is_gone_is_a_change(reader: Any) -> None:
    scan = reader.scan(b"a\n1\n", CSV)
    os.unlink(scan.file.path)
    with pytest.raises(Transient) as failure:
        reader.read(scan, CSV)
    assert failure.value.code == "source.changed"


def test_batches_are_about_as_big_as_a_block(reader: Any) -> None:
    scan = reader.scan(b"a\n" + b"123456789\n" * 10_000, CSV)
    batches = list(csv_format.read(scan.splits[0], CSV, scan.fields, block_bytes=20_000))
    assert len(batches) == 5
    assert max(batch.num_rows for batch in batches) <= 2001
