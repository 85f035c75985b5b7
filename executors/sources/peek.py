"""The files of a source, quickly, for a page that waits: all, and the newest one's columns and head."""

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
"""A folder with more is not worth looking through while a page waits."""


def peek_columns(source: Source, folder: Path) -> list[str]:
    """The columns of the newest file that a source would read; none where that cannot be told. `folder` is the
    workspace's. Raises Failure and OSError for what cannot be read, and ValueError for settings that are not valid."""
    if CONNECTORS[source.connector].reads != "files":
        return []
    format = config_of(source, FilesConfig).format
    if not isinstance(format, Csv | Tsv):
        return []
    handler = load_file_source(source, SourceContext(folder, Claimant("", frozenset())))
    file = handler.newest_file(MOST_FILES)
    return read_header(file, format, handler.store) if file else []


def peek_head(source: Source, folder: Path, most: int) -> tuple[str, bytes] | None:
    """The name of the newest file that a source would read, and its first bytes, at most so many; None if there is no
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
    """The files that a source may read; None where finding them would take long. Raises as `peek_columns`."""
    if CONNECTORS[source.connector].reads != "files":
        return None
    return load_file_source(source, SourceContext(folder, Claimant("", frozenset()))).few_files(MOST_FILES)
