"""The columns of files as load units store them: names and types, in the order of the file."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import replace

from executors.errors import Failure
from executors.formats import FORMATS
from executors.formats.files import FileStore
from executors.formats.zip_archives import is_archive
from executors.model import FileScan, SourceFile
from ir.connectors import config_of
from ir.connectors.files import FilesConfig
from ir.formats import Json, Jsonl
from ir.nodes import Source

HEAD_BYTES = 1 << 20
"""How much of a file is read for its columns if its scan has failed."""


def scanned_file(source: Source, scan: FileScan) -> SourceFile:
    """Return the scanned file with its columns."""
    file = scan.scanned_file()
    columns = _ordered(source, file.columns)
    return file if columns is file.columns else replace(file, columns=columns)


def columns_of(source: Source, file: SourceFile, store: FileStore) -> tuple[tuple[str, str], ...] | None:
    """Return the columns of a file that could not be scanned, if its first bytes are readable. A missing column may be
    the reason for the failure, so the declared columns are not required. An archive itself has none."""
    if file.member is None and is_archive(file.name):
        return None
    fmt = config_of(source, FilesConfig).format
    handler = FORMATS[fmt.type]
    with suppress(Failure):
        if file.size <= HEAD_BYTES:
            return _ordered(source, handler.scan(file, fmt, store=store).columns)
        return _ordered(source, handler.scan_head(file, fmt, store=store, most_bytes=HEAD_BYTES).columns)
    return None


def _ordered(source: Source, columns: tuple[tuple[str, str], ...] | None) -> tuple[tuple[str, str], ...] | None:
    """Return the columns of JSON by name: its records name their columns in any order."""
    if columns is not None and isinstance(config_of(source, FilesConfig).format, Json | Jsonl):
        return tuple(sorted(columns))
    return columns
