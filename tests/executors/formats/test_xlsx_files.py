"""Excel workbooks: values as the workbook means them, and nothing that is lost without a word."""

from __future__ import annotations

import datetime as dt
import io
import zipfile
from collections.abc import Callable
from typing import Any

import openpyxl
import pytest
from openpyxl.utils.datetime import CALENDAR_MAC_1904

from executors.detection import GivenSettings, detect
from executors.errors import Terminal
from executors.formats import xlsx, xlsx_workbook
from executors.formats.xlsx_cells import BadCellError, style_of, text_of_number
from ir.formats import Xlsx
from ir.nodes import SourceColumn
from tests.executors.formats.conftest import FileReader

XLSX = Xlsx.read({"type": "xlsx"})


def content_of(*rows: Any, fill: Callable[[Any], None] | None = None, **sheets: Any) -> bytes:
    book = openpyxl.Workbook()
    for row in rows:
        book.active.append(row)
    for name, others in sheets.items():
        sheet = book.create_sheet(name)
        for row in others:
            sheet.append(row)
    if fill:
        fill(book.active)
    out = io.BytesIO()
    book.save(out)
    return out.getvalue()


def with_part(content: bytes, part: str, change: Callable[[bytes], bytes]) -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(content)) as old, zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as new:
        for info in old.infolist():
            data = old.read(info)
            new.writestr(info.filename, change(data) if info.filename == part else data)
    return out.getvalue()


SHEET = "xl/worksheets/sheet1.xml"
VALUES = [
    (1, "1"),
    (2.0, "2"),
    (0.1, "0.1"),
    (-1.5e-7, "-0.00000015"),
    (1e20, "100000000000000000000"),
    (True, "true"),
    (False, "false"),
    ("007", "007"),
    ("Ж & <b>", "Ж & <b>"),
    ("", None),
    (None, None),
    (dt.date(2024, 2, 29), "2024-02-29"),
    (dt.date(1900, 1, 1), "1900-01-01"),
    (dt.datetime(2024, 2, 29, 12, 30, 15, 250000), "2024-02-29 12:30:15.250"),
    (dt.datetime(2024, 2, 29), "2024-02-29 00:00:00"),
    (dt.time(23, 59, 59), "23:59:59"),
]


@pytest.mark.parametrize("number", range(len(VALUES)))
def test_values_are_those_of_the_workbook(reader: FileReader, number: int) -> None:
    value, expected = VALUES[number]
    assert reader.rows(content_of(["id", "x"], [1, value]), XLSX) == [{"id": "1", "x": expected}]


def test_dates_count_from_1904_where_the_workbook_says_so(reader: FileReader) -> None:
    book = openpyxl.Workbook()
    book.epoch = CALENDAR_MAC_1904
    book.active.append(["x"])
    book.active.append([dt.date(2024, 2, 29)])
    out = io.BytesIO()
    book.save(out)
    assert reader.rows(out.getvalue(), XLSX) == [{"x": "2024-02-29"}]


@pytest.mark.parametrize(
    ("number", "style", "expected"),
    [
        ("61", "date", "1900-03-01"),
        ("59", "date", "1900-02-28"),
        ("45351.5", "date", "2024-02-29 12:00:00"),
        ("45351.520833333336", "timestamp", "2024-02-29 12:30:00"),
        ("1.5", "elapsed", "36:00:00"),
        ("45351.25", "time", "2024-02-29 06:00:00"),
        ("0.30000000000000004", "number", "0.30000000000000004"),
        ("1.1000000000000001", "number", "1.1"),
        ("9.9999999999999995E-07", "number", "0.000001"),
        ("12345678901234567", "number", "12345678901234567"),
        ("0.1234567890123456789", "number", "0.1234567890123456789"),
        ("0", "time", "00:00:00"),
        ("-0", "number", "0"),
        ("1E-3", "number", "0.001"),
        ("1E+300", "number", "1E+300"),
    ],
)
def test_numbers_have_the_meaning_of_their_style(number: str, style: Any, expected: str) -> None:
    assert text_of_number(number, style, from_1904=False) == expected


@pytest.mark.parametrize(
    ("number", "style"),
    [
        *((number, "date") for number in ("60", "0", "-1", "9e9")),
        *((number, "number") for number in ("x", "NaN", "1_000", "١٢")),
        ("0.5", "timestamp"),
    ],
)
def test_what_is_no_value_of_a_style_is_refused(number: str, style: Any) -> None:
    with pytest.raises(BadCellError):
        text_of_number(number, style, from_1904=False)


@pytest.mark.parametrize(
    ("code", "style"),
    [
        ("General", "number"),
        ('0.00" days"', "number"),
        ('"Week;"yyyy', "date"),
        ("[Red]0.00", "number"),
        ("#,##0.00\\ [$€-407]", "number"),
        ("yyyy-mm-dd", "date"),
        ("[$-409]d-mmm-yy;@", "date"),
        ("dd/mm/yyyy hh:mm", "timestamp"),
        ("mm:ss", "time"),
        ("h:mm AM/PM", "time"),
        ("[h]:mm:ss", "elapsed"),
        ("0.00E+00", "number"),
    ],
)
def test_the_code_of_a_format_says_what_a_number_is(code: str, style: str) -> None:
    assert style_of(200, code) == style


def test_cells_without_a_usable_value_reject_their_row(reader: FileReader, bad_rows: Callable[..., Any]) -> None:
    content = content_of(["id", "x"], [1, "#N/A"], [2, "=1+1"], [3, "a", "b"], [4, "ok"])
    scan = reader.scan(content, XLSX)
    assert scan.records == 4
    assert bad_rows(reader.read(scan, XLSX)) == [
        (1, "cell B2 holds the error #N/A", "A2: 1; B2: #N/A"),
        (2, "cell B3 holds a formula without a stored value", "A3: 2; B3: "),
        (3, "cell C4 is beyond the last column", "A4: 3; B4: a; C4: b"),
    ]


def with_cells(*cells: str) -> bytes:
    """Return a workbook with these cells below the header x."""
    rows = "".join(f"<row>{cell}</row>" for cell in ("<c t='inlineStr'><is><t>x</t></is></c>", *cells))
    xml = f"<worksheet><sheetData>{rows}</sheetData></worksheet>".encode()
    return with_part(WHOLE, SHEET, lambda data: xml)


@pytest.mark.parametrize(
    ("cell", "reason"),
    [
        ("<c t='b'><v>2</v></c>", "cell A2 cannot be read: '2' is neither true nor false"),
        ("<c t='s'><v>-1</v></c>", "cell A2 cannot be read: it refers to entry -1 of 0"),
        ("<c s='-1'><v>5</v></c>", "cell A2 cannot be read: it refers to entry -1 of 1"),
        ("<c s='99'><v>5</v></c>", "cell A2 cannot be read: it refers to entry 99 of 1"),
        ("<c t='x'><v>5</v></c>", "cell A2 cannot be read: it has the unknown type 'x'"),
        ("<c r='A2'><v>5</v></c><c r='A2'><v>6</v></c>", "row 2 has two cells in one place"),
    ],
)
def test_cells_that_name_no_value_reject_their_row(
    reader: FileReader, bad_rows: Callable[..., Any], cell: str, reason: str
) -> None:
    scan = reader.scan(with_cells(cell, "<c><v>7</v></c>"), XLSX)
    rows = reader.read(scan, XLSX)
    assert [found for _, found, _ in bad_rows(rows)] == [reason]
    assert rows[1]["x"] == "7"


def test_escaped_characters_are_those_that_excel_shows(reader: FileReader) -> None:
    content = with_cells(
        "<c t='inlineStr'><is><t>a_x000D_&#10;b _x005F_x000D_ _xD800_</t></is></c>",
        "<c t='str'><v>_x0041__</v></c>",
    )
    assert [row["x"] for row in reader.rows(content, XLSX)] == ["a\r\nb _x000D_ _xD800_", "A_"]


def test_an_error_is_text_in_a_column_of_text_and_null_if_it_says_so(reader: FileReader) -> None:
    content = content_of(["id", "x"], [1, "#N/A"])
    declared = [SourceColumn(name="x", type="string")]
    assert reader.rows(content, XLSX, declared) == [{"id": "1", "x": "#N/A"}]
    fmt = Xlsx.read({"type": "xlsx", "nullValues": ["#N/A"]})
    assert reader.rows(content, fmt) == [{"id": "1", "x": None}]


def test_formulas_have_their_stored_values(reader: FileReader) -> None:
    def stored(sheet: bytes) -> bytes:
        sheet = sheet.replace(b"<f>1+1</f><v></v>", b"<f>1+1</f><v>2</v>").replace(
            b"<f>1+1</f><v />", b"<f>1+1</f><v>2</v>"
        )
        assert b"<v>2</v>" in sheet
        return sheet

    content = with_part(content_of(["x"], ["=1+1"]), SHEET, stored)
    assert reader.rows(content, XLSX) == [{"x": "2"}]


def test_sheets_and_ranges_are_chosen(reader: FileReader) -> None:
    content = content_of(["x"], ["first"], Other=[["title"], [], ["", "a", "b"], ["", 1, 2], ["", 3, 4], ["", 5, 6, 7]])
    assert reader.rows(content, XLSX) == [{"x": "first"}]
    for cells, rows in {
        "B3": [("1", "2"), ("3", "4")],
        "B3:C4": [("1", "2")],
        "B3:C6": [("1", "2"), ("3", "4"), ("5", "6")],
    }.items():
        fmt = Xlsx.read({"type": "xlsx", "sheet": "Other", "range": cells})
        assert [tuple(row.values()) for row in reader.rows(content, fmt)] == rows
    fmt = Xlsx.read({"type": "xlsx", "sheet": "Other", "range": "B4", "header": False})
    assert reader.rows(content, fmt)[0] == {"column_1": "1", "column_2": "2"}
    with pytest.raises(Terminal, match="'Sheet', 'Other'") as refused:
        reader.scan(content, Xlsx.read({"type": "xlsx", "sheet": "Third"}))
    assert refused.value.code == "source.sheet_unknown"


def test_other_sheets_and_merged_cells_cause_warnings(reader: FileReader) -> None:
    content = content_of(["a", "b"], [1, 2], fill=lambda sheet: sheet.merge_cells("A3:B3"), Other=[["x"]])
    first, second = reader.scan(content, XLSX).warnings
    assert "only 'Sheet' is read" in first
    assert "1 merged cells" in second


def test_rows_without_a_value_are_no_records(reader: FileReader) -> None:
    content = content_of([], ["x"], [], [1], [None], [2])
    assert [row["x"] for row in reader.rows(content, XLSX)] == ["1", "2"]
    assert reader.scan(content_of(), XLSX).is_blank


def test_many_rows_come_in_batches(reader: FileReader) -> None:
    content = content_of(["n", "t"], *([n, f"text {n % 7}"] for n in range(2000)))
    scan = reader.scan(content, XLSX)
    batches = list(xlsx.read(scan.splits[0], XLSX, scan.fields, block_bytes=1000))
    assert len(batches) > 10
    assert [n for batch in batches for n in batch.column("n").to_pylist()] == [str(n) for n in range(2000)]
    head = xlsx.scan_head(scan.file, XLSX, most_bytes=1000)
    assert 50 < head.records < 200


def test_a_missing_declared_column_is_named(reader: FileReader) -> None:
    with pytest.raises(Terminal, match="'y'") as refused:
        reader.scan(content_of(["x"], [1]), XLSX, [SourceColumn(name="y", type="string")])
    assert refused.value.code == "source.column_missing"


WHOLE = content_of(["x"], [1])
LAUGHS = b'<!DOCTYPE x [<!ENTITY a "ha"><!ENTITY b "&a;&a;&a;&a;&a;&a;&a;&a;">]>'
BROKEN = {
    "empty": b"",
    "text": b"a,b\n",
    "truncated": WHOLE[:-30],
    "archive": with_part(WHOLE, "_rels/.rels", lambda data: b"<Relationships/>"),
    "no XML": with_part(WHOLE, SHEET, lambda data: data[:-20]),
    "entities": with_part(WHOLE, SHEET, lambda data: LAUGHS + data[data.index(b"<worksheet") :]),
    "deep": with_part(WHOLE, SHEET, lambda data: b"<a>" * 300 + b"</a>" * 300),
}


@pytest.mark.parametrize("case", BROKEN)
def test_what_is_no_workbook_is_refused(reader: FileReader, case: str) -> None:
    with pytest.raises(Terminal) as refused:
        reader.scan(BROKEN[case], XLSX)
    assert refused.value.code == "source.malformed"


TEXTS = (
    b"<sst><si><t>x</t></si><si><r><t>a </t></r><r><rPr><b/></rPr><t>bold</t></r><rPh><t>hint</t></rPh></si>"
    b"<si><t xml:space='preserve'> b </t></si></sst>"
)


def with_shared_texts() -> bytes:
    """Return a workbook as Excel writes it: its texts are in a part of their own."""
    rows = b"".join(b"<row><c t='s'><v>%d</v></c></row>" % n for n in (0, 1, 2, 1))
    content = with_part(WHOLE, SHEET, lambda data: b"<worksheet><sheetData>" + rows + b"</sheetData></worksheet>")
    link = b"<Relationship Id='t' Type='x/sharedStrings' Target='texts.xml'/></Relationships>"
    content = with_part(content, "xl/_rels/workbook.xml.rels", lambda data: data.replace(b"</Relationships>", link))
    out = io.BytesIO(content)
    with zipfile.ZipFile(out, "a") as archive:
        archive.writestr("xl/texts.xml", TEXTS)
    return out.getvalue()


def test_shared_texts_have_no_formats_and_no_phonetic_hints(reader: FileReader) -> None:
    assert [row["x"] for row in reader.rows(with_shared_texts(), XLSX)] == ["a bold", " b ", "a bold"]


@pytest.mark.parametrize("limit", ["MOST_SHEET_BYTES", "MOST_TEXT_BYTES", "MOST_TEXTS", "MOST_PARTS"])
def test_workbooks_above_a_limit_are_refused(reader: FileReader, limit: str, monkeypatch: Any) -> None:
    monkeypatch.setattr(xlsx_workbook, limit, 0 if limit == "MOST_TEXTS" else 3)
    with pytest.raises(Terminal) as refused:
        reader.scan(with_shared_texts(), XLSX)
    assert refused.value.code == "source.expands_too_much"


def test_a_sheet_that_is_larger_than_the_archive_says_is_refused(reader: FileReader) -> None:
    content = bytearray(WHOLE)
    with zipfile.ZipFile(io.BytesIO(WHOLE)) as archive:
        size = archive.getinfo(SHEET).file_size.to_bytes(4, "little")
    at = bytes(content).rindex(size)
    content[at : at + 4] = (20).to_bytes(4, "little")
    with pytest.raises(Terminal) as refused:
        reader.scan(bytes(content), XLSX)
    assert refused.value.code == "source.malformed"


def test_the_table_and_its_types_are_detected() -> None:
    content = content_of(
        ["A report"],
        [],
        [None, "id", "code", "day"],
        [None, 1, "007", dt.date(2024, 1, 31)],
        [None, 2, "010", None],
        Other=[["x"]],
    )
    found = detect(content, "x.xlsx", is_whole=True)
    settings = found.format.to_document()
    assert (settings["sheet"], settings["range"], settings["header"]) == ("Sheet", "B3", True)
    assert [(column.name, column.type) for column in found.columns] == [
        ("id", "integer"),
        ("code", "string"),
        ("day", "date"),
    ]
    assert [problem.code for problem in found.problems] == ["sheet.chosen"]
    assert [problem.code for problem in detect(content[:900], "x", is_whole=False).problems] == ["columns.not_read"]


def test_a_sheet_that_is_chosen_is_detected() -> None:
    content = content_of(["x"], [1], Other=[["y"], [2.5]])
    found = detect(content, "x.xlsx", is_whole=True, given=GivenSettings(sheet="Other"))
    assert found.format.to_document() == {"type": "xlsx", "sheet": "Other", "header": True}
    assert ([column.name for column in found.columns], found.problems) == (["y"], ())
    with pytest.raises(Terminal, match="'Third'; it has 'Sheet', 'Other'") as refused:
        detect(content, "x.xlsx", is_whole=True, given=GivenSettings(sheet="Third"))
    assert refused.value.code == "source.sheet_unknown"
