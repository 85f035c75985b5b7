"""Reads the file names of a source, and the columns and first bytes of the newest file, quickly enough for a waiting
page."""

from __future__ import annotations

from pathlib import Path

from executors.formats.csv import read_header
from executors.model import SourceFile
from executors.sources import load_file_source
from executors.sources.base import Claimant, SourceContext
from ir.connectors import CONNECTORS, config_of
from ir.connectors.files import FilesConfig
from ir.formats import Csv, Tsv
from ir.nodes import Source

MOST_FILES = 1000
"""A folder with more files takes too long to search while a page waits."""


def peek_columns(source: Source, folder: Path) -> list[str]:
    """Return the columns of the newest file that a source would read; an empty list if they are unknown. `folder` is
    the workspace's folder. Raises Failure and OSError for unreadable files, and ValueError for invalid settings."""
    if CONNECTORS[source.connector].reads != "files":
        return []
    format = config_of(source, FilesConfig).format
    if not isinstance(format, Csv | Tsv):
        return []
    handler = load_file_source(source, SourceContext(folder, Claimant("", frozenset())))
    file = handler.newest_file(MOST_FILES)
    return read_header(file, format, handler.store) if file else []


def peek_head(source: Source, folder: Path, most: int) -> tuple[str, bytes] | None:
    """Return the name and at most `most` first bytes of the newest file that a source would read; None if there is no
    such file. Raises as `peek_columns`."""
    if CONNECTORS[source.connector].reads != "files":
        return None
    handler = load_file_source(source, SourceContext(folder, Claimant("", frozenset())))
    file = handler.newest_file(MOST_FILES)
    if file is None:
        return None
    with handler.store.open(file) as stream:
        return file.name, stream.read(most)


def peek_files(source: Source, folder: Path) -> tuple[SourceFile, ...] | None:
    """Return the files that a source may read; None if finding them would take long. Raises as `peek_columns`."""
    if CONNECTORS[source.connector].reads != "files":
        return None
    return load_file_source(source, SourceContext(folder, Claimant("", frozenset()))).few_files(MOST_FILES)
