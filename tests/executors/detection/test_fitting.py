"""Reads the first bytes of a file with given types: the values are those of a run, and values that do not have the type
are reported."""

from __future__ import annotations

from executors.detection import Cell, ColumnFit, fit
from ir.formats import Csv, Jsonl
from ir.nodes import SourceColumn

ORDERS = "Nr;Betrag;Am\n1;1.234,50;31.12.2025\n2;x;2026-02-01\n3;;\n".encode("cp1252")
CSV = Csv.read({"type": "csv", "delimiter": ";", "encoding": "cp1252"})


def column(name: str, kind: str, **more: object) -> SourceColumn:
    return SourceColumn.read({"name": name, "type": kind, **more})


def test_values_are_read_as_a_run_reads_them_and_misfits_are_counted():
    amount = column("Betrag", "decimal(18,2)", decimalSeparator=",", groupSeparator=".")
    day = column("Am", "date", format=["%d.%m.%Y", "%Y-%m-%d"])
    found = fit(ORDERS, "a.csv", is_whole=True, fmt=CSV, columns=[day, amount])

    assert found.rows[0] == (Cell("31.12.2025", "2025-12-31"), Cell("1.234,50", "1234.50"))
    assert found.rows[1][1] == Cell("x", None, misfits=True)
    assert found.rows[2] == (Cell(None, None), Cell(None, None))
    assert found.columns == (ColumnFit("Am", 2, 0, ()), ColumnFit("Betrag", 2, 1, ("x",)))


def test_empty_texts_misfit_no_type():
    found = fit(b'id\n"7"\n""\n', "a.csv", is_whole=True, fmt=Csv.read({"type": "csv"}), columns=[column("id", "date")])
    assert found.columns == (ColumnFit("id", 1, 1, ("7",)),)
    assert found.rows[1] == (Cell("", None),)


def test_columns_that_the_file_lacks_are_left_out():
    found = fit(ORDERS, "a.csv", is_whole=True, fmt=CSV, columns=[column("Ort", "string"), column("Nr", "integer")])
    assert [one.column for one in found.columns] == ["Nr"]


def test_rows_beyond_the_first_are_counted_too():
    rows = "".join(f"{n}\n" for n in range(100))
    found = fit(f"id\n{rows}x\n".encode(), "a.csv", is_whole=True, fmt=CSV, columns=[column("id", "integer")])
    assert (len(found.rows), found.columns[0].misfits) == (20, 1)


def test_values_of_other_formats_are_converted():
    data = b'{"id": 1, "at": "2026-01-01"}\n{"id": 2.5, "at": "soon"}\n'
    columns = [column("id", "integer"), column("at", "date")]
    found = fit(data, "a.jsonl", is_whole=True, fmt=Jsonl.read({"type": "jsonl"}), columns=columns)
    assert [one.misfits for one in found.columns] == [1, 1]
