"""The columns of files as load units store them."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pytest
from pyarrow import parquet

from executors.formats import FORMATS
from executors.formats.files import LOCAL_FILES
from executors.model import SourceFile
from executors.sources.file_columns import columns_of, scanned_file
from ir.connectors import config_of
from ir.connectors.files import FilesConfig
from ir.nodes import Source


def source_of(fmt: str, **more: object) -> Source:
    config = {"path": "in", "pattern": {"type": "glob", "value": "*"}, "format": {"type": fmt}}
    return Source(id="src", kind="source", connector="local_fs", config=config, **more)


def file_with(path: Path, content: bytes) -> SourceFile:
    path.write_bytes(content)
    return SourceFile.found(0, str(path), path.name, path.stat())


@pytest.mark.parametrize(
    ("fmt", "content", "columns"),
    [
        ("csv", b"id,name\n1,Ada\n", (("id", "string"), ("name", "string"))),
        ("csv", b"", None),
        ("jsonl", b'{"b": 1, "a": null}\n', (("a", ""), ("b", "string"))),
    ],
)
def test_a_scan_gives_the_columns(tmp_path, fmt, content, columns):
    source, file = source_of(fmt), file_with(tmp_path / "a", content)
    scan = FORMATS[fmt].scan(file, config_of(source, FilesConfig).format)
    assert scanned_file(source, scan).columns == columns


def test_typed_files_give_their_types_in_their_order(tmp_path):
    parquet.write_table(pa.table({"z": pa.array([1], pa.int64()), "a": ["x"]}), tmp_path / "a")
    source = source_of("parquet")
    file = SourceFile.found(0, str(tmp_path / "a"), "a", (tmp_path / "a").stat())
    scan = FORMATS["parquet"].scan(file, config_of(source, FilesConfig).format)
    assert scanned_file(source, scan).columns == (("z", "bigint"), ("a", "string"))


def test_a_file_that_lacks_a_declared_column_still_gives_its_columns(tmp_path):
    source = source_of("csv", columns=[{"name": "total", "type": "integer"}])
    file = file_with(tmp_path / "a", b"id,name\n1,Ada\n")
    assert columns_of(source, file, LOCAL_FILES) == (("id", "string"), ("name", "string"))


def test_a_file_that_is_not_of_its_format_gives_none(tmp_path):
    assert columns_of(source_of("parquet"), file_with(tmp_path / "a", b"id\n1\n"), LOCAL_FILES) is None
