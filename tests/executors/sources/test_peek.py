"""What pages read of ZIP archives: the files in them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from executors.errors import InvalidContent
from executors.sources.peek import peek_columns, peek_files, peek_head
from ir.nodes import Source
from tests.executors.formats.zips import packed

ARCHIVE = packed({"Notes": b"x", "b.jsonl": b"{}", "c.csv": b"id,name\n"})


def source(format: str) -> Source:
    config: dict[str, Any] = {"path": "", "pattern": {"type": "glob", "value": "*"}, "format": {"type": format}}
    return Source(id="src", kind="source", connector="local_fs", config=config)


def test_the_head_is_that_of_the_first_file_of_text(tmp_path: Path) -> None:
    (tmp_path / "a.zip").write_bytes(ARCHIVE)
    found = peek_head(source("csv"), tmp_path, 100)
    assert found is not None
    assert (found[0].name, found[1]) == ("a.zip/b.jsonl", b"{}")


def test_the_columns_are_those_of_the_first_file_that_is_read(tmp_path: Path) -> None:
    (tmp_path / "a.zip").write_bytes(ARCHIVE)
    assert peek_columns(source("csv"), tmp_path) == ["id", "name"]


def test_the_files_are_those_that_a_run_reads(tmp_path: Path) -> None:
    (tmp_path / "a.zip").write_bytes(ARCHIVE)
    (tmp_path / "d.csv").write_bytes(b"id\n")
    assert sorted(file.name for file in peek_files(source("csv"), tmp_path) or ()) == ["a.zip/c.csv", "d.csv"]


def test_an_archive_that_cannot_be_read_is_refused(tmp_path: Path) -> None:
    (tmp_path / "a.zip").write_bytes(ARCHIVE[:-1])
    for peek in (peek_columns, peek_files):
        with pytest.raises(InvalidContent, match=r"^source\.malformed"):
            peek(source("csv"), tmp_path)
