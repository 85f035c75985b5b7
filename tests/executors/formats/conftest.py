"""Scans and reads files of a test."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

from executors.formats import FORMATS
from executors.model import FileScan, SourceFile

Row = dict[str, Any]


class FileReader:
    """Writes bytes to a file, scans it and reads all of its splits."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def file(self, content: bytes, name: str = "data.csv", seq: int = 0) -> SourceFile:
        path = self._folder / name
        path.write_bytes(content)
        return self.found(path, seq)

    def found(self, path: Path, seq: int = 0) -> SourceFile:
        status = path.stat()
        return SourceFile.found(seq, str(path), path.name, status)

    def scan(self, content: bytes, fmt: Any, declared: Sequence[Any] = (), **sizes: int) -> FileScan:
        return FORMATS[fmt.type].scan(self.file(content), fmt, declared, **sizes)

    def read(self, scan: FileScan, fmt: Any, declared: Sequence[Any] = (), **sizes: int) -> list[Row]:
        batches = (b for s in scan.splits for b in FORMATS[fmt.type].read(s, fmt, scan.fields, declared, **sizes))
        return [row for batch in batches for row in batch.to_pylist()]

    def rows(self, content: bytes, fmt: Any, declared: Sequence[Any] = ()) -> list[Row]:
        """Return all rows without the hidden columns and without bad rows."""
        rows = self.read(self.scan(content, fmt, declared), fmt, declared)
        return [visible(row) for row in rows if row["_flow_bad"] is None]


def visible(row: Row) -> Row:
    return {name: value for name, value in row.items() if not name.startswith("_flow_")}


@pytest.fixture(scope="session")
def reader(tmp_path_factory: pytest.TempPathFactory) -> FileReader:
    return FileReader(tmp_path_factory.mktemp("files"))


@pytest.fixture
def bad_rows() -> Callable[[list[Row]], list[tuple[int, str, str]]]:
    """Return number, reason and raw text of the bad rows."""
    return lambda rows: [
        (row["_flow_record"], row["_flow_bad"], row["_flow_raw"]) for row in rows if row["_flow_bad"] is not None
    ]
