"""Small files are read from memory, those of CSV together: each row as if its file were read alone."""

from __future__ import annotations

import gzip
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from executors.errors import Transient
from executors.formats import FORMATS, batches, small_files
from executors.formats.files import LOCAL_FILES
from executors.formats.unions import union_of_fields
from executors.model import FileScan
from executors.reading import FileReader as PartsOfFiles
from ir.formats import Csv, Jsonl
from tests.executors.formats.conftest import FileReader

CSV = Csv(type="csv")
CONTENTS = [
    b"id,name\n1,Ann\n2,Bob\n",
    b"id,name\n3,no line end",
    b"id,name\r\n4,Zed\r\n\r\n5,Yan\r\n",
    b"id,name\r6,a\r",
    b"\xef\xbb\xbfid,name\n7,after a mark\n",
    b"name,id,more\nother order,8,x\n",
    b"id,name\n",
    b'id,name\n9,"a\nb"\n10,"say ""hi"""',
    b"id,name\nonly one\n11,x\n12,x,y\n\xff,z\n13,\xc3\xa9\n",
    gzip.compress(b"id,name\n14,packed\n15,packed"),
    b"sep=,\nid,name\n16,x\n",
    b"id\n17\n",
]


@pytest.fixture
def scans(tmp_path: Path) -> Any:
    """Return a function that writes files and scans them."""
    reader = FileReader(tmp_path)

    def scan(contents: Sequence[bytes], fmt: Any) -> list[FileScan]:
        files = [reader.file(content, f"{number:03}", number) for number, content in enumerate(contents)]
        return [FORMATS[fmt.type].scan(file, fmt) for file in files]

    return scan


def together(found: Sequence[FileScan], fmt: Any) -> list[dict[str, Any]]:
    """Return the rows of the files, read as a task reads them."""
    splits = [split for scan in found for split in scan.splits]
    read = PartsOfFiles(fmt, (), LOCAL_FILES).read_all(splits, union_of_fields(found))
    return [row for batch in read for row in batch.to_pylist()]


def alone(found: Sequence[FileScan], fmt: Any) -> list[dict[str, Any]]:
    fields = union_of_fields(found)
    read = (b for scan in found for split in scan.splits for b in FORMATS[fmt.type].read(split, fmt, fields))
    return [row for batch in read for row in batch.to_pylist()]


@pytest.mark.parametrize("rows", [1, 3, batches.GATHERED_ROWS])
def test_rows_are_those_of_each_file_alone(scans: Any, rows: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("executors.formats.csv_together.GATHERED_ROWS", rows)
    found = scans(CONTENTS, CSV)
    assert together(found, CSV) == alone(found, CSV)
    assert len(together(found, CSV)) == sum(scan.records for scan in found) == 19


@pytest.mark.parametrize("encoding", ["latin-1", "utf-16"])
def test_rows_in_another_encoding_are_those_of_each_file_alone(scans: Any, encoding: str) -> None:
    fmt = Csv(type="csv", encoding=encoding)
    found = scans([text.encode(encoding) for text in ("a,b\n1,é\n2,x", "a,b\n3,y\n", "b,a\n4,z\n")], fmt)
    assert together(found, fmt) == alone(found, fmt)


def test_files_without_a_header_have_as_many_columns_as_their_first_record(scans: Any) -> None:
    fmt = Csv(type="csv", header=False)
    found = scans([b"1,2\n3,4\n", b"\xef\xbb\xbf5,6,7\n", b"sep=,\n8\n", b"sep=,\n9,10\n"], fmt)
    assert together(found, fmt) == alone(found, fmt)
    assert not any(row["_flow_bad"] for row in together(found, fmt))


def test_a_batch_holds_rows_of_many_files_with_the_same_columns_only(scans: Any) -> None:
    found = scans([b"a,b\n1,2\n"] * 50 + [b"b,a\n3,4\n"] * 50, CSV)
    splits = [split for scan in found for split in scan.splits]
    read = list(PartsOfFiles(CSV, (), LOCAL_FILES).read_all(splits, found[0].fields))
    assert [batch.num_rows for batch in read] == [50, 50]
    assert [batch.column("_flow_file").to_pylist() for batch in read] == [list(range(50)), list(range(50, 100))]
    assert [set(batch.column("a").to_pylist()) for batch in read] == [{"1"}, {"4"}]


def test_large_files_between_small_ones_stay_in_their_place(scans: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(small_files, "SMALL_BYTES", 10)
    found = scans([b"n\n1\n", b"n\n" + b"2\n" * 20, b"n\n3\n", b"n\n4\n"], CSV)
    assert [row["n"] for row in together(found, CSV)] == ["1", *["2"] * 20, "3", "4"]


@pytest.mark.parametrize("fmt", [CSV, Jsonl(type="jsonl")])
@pytest.mark.parametrize("change", ["other bytes", "shorter", "longer", "gone"])
def test_a_small_file_that_changed_after_its_scan_is_not_read(scans: Any, fmt: Any, change: str) -> None:
    line = b"n\n%d\n" if fmt is CSV else b'{"n": %d}\n'
    found = scans([line % 1, line % 2, line % 3], fmt)
    path = Path(found[1].file.path)
    status = path.stat()
    other = {"other bytes": line % 9, "shorter": (line % 2)[:-1], "longer": (line % 2) + b"5\n", "gone": b""}[change]
    path.write_bytes(other)
    os.utime(path, ns=(status.st_atime_ns, status.st_mtime_ns))
    if change == "gone":
        path.unlink()
    with pytest.raises(Transient) as failure:
        together(found, fmt)
    assert failure.value.code == "source.changed"
