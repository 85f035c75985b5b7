"""What the newest file of a source calls its columns, quickly: suggestions for an editor, before anything has run."""

from __future__ import annotations

from pathlib import Path

from executors.formats.csv import read_header
from executors.sources import load_file_source
from executors.sources.base import Claimant, SourceContext
from ir.connectors import CONNECTORS, config_of
from ir.connectors.files import FilesConfig
from ir.formats import Csv, Tsv
from ir.nodes import Source

MOST_FILES = 1000
"""Of a folder with more, the newest file is not worth finding out while a page waits."""


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
