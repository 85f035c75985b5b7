"""Formats that are recognised by the first bytes, written by real programs."""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
import sqlite3
import zipfile
from collections.abc import Callable

import pyarrow as pa
import pytest
import zstandard
from pyarrow import feather

from executors.formats.signatures import HEAD_BYTES, unreadable_kind


def zipped() -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as archive:
        archive.writestr("orders.csv", "id")
    return out.getvalue()


def written(write: Callable[[pa.Table, io.BytesIO], object]) -> bytes:
    out = io.BytesIO()
    write(pa.table({"id": [1]}), out)
    return out.getvalue()


def sqlite() -> bytes:
    with sqlite3.connect(":memory:") as database:
        database.execute("CREATE TABLE t (id integer)")
        return database.serialize()


# Without ids each process would name the tests by bytes that hold the time of day.
@pytest.mark.parametrize(
    ("content", "name"),
    [
        (zipped(), "ZIP"),
        (lzma.compress(b"id\n1\n"), "xz"),
        (sqlite(), "SQLite"),
        (bytes(8) + b"DUCK" + bytes(8), "DuckDB"),
        (written(feather.write_feather), "Arrow"),
        (b"<!doctype html>\n", "HTML"),
        (b"Rar!\x1a\x07\x01\x00", "RAR"),
        (b"%PDF-1.7\n", "PDF"),
        (b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + bytes(8), "Excel workbook"),
    ],
    ids=["zip", "xz", "sqlite", "duckdb", "arrow", "html", "rar", "pdf", "xls"],
)
def test_a_file_that_no_format_reads_is_named(content: bytes, name: str) -> None:
    found = unreadable_kind(content[:HEAD_BYTES])
    assert found
    assert name in found.name


@pytest.mark.parametrize(
    "content",
    [
        gzip.compress(b"id\n1\n", mtime=0),  # the bytes are part of the name of the test
        bz2.compress(b"id\n1\n"),
        zstandard.compress(b"id\n1\n"),
        b"",
        b"id\n",
        b"PK,name\n",
        b"BZhour;x\n",
        b"Object\n",
        b"PAR1",
        b"ORC\n1\n",
        b"<id>;x\n",
        b"\xef\xbb\xbfid\n",
    ],
    ids=str,
)
def test_files_that_are_read_are_not_mistaken_for_others(content: bytes) -> None:
    assert unreadable_kind(content[:HEAD_BYTES]) is None
