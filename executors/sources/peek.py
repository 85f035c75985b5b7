"""Reads the file names of a source, and the columns and first bytes of the newest file, quickly enough for a waiting
page."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import BinaryIO

from executors.errors import InvalidContent
from executors.formats.csv import read_header
from executors.formats.zip_archives import is_archive, members_in, open_member
from executors.model import SourceFile
from executors.sources import load_file_source
from executors.sources.base import Claimant, SourceContext
from ir.connectors import CONNECTORS, config_of
from ir.connectors.files import FilesConfig
from ir.formats import FORMAT_KINDS, Csv, Tsv
from ir.nodes import Source

MOST_FILES = 1000
"""A folder with more files takes too long to search while a page waits."""

_NAMED = tuple(kind for kind in FORMAT_KINDS if kind.endings)
"""The formats whose files have usual names."""


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
    if file is None:
        return []
    return read_header(handler.unpack(file, time.time()).files[0], format, handler.reader)


def peek_head(source: Source, folder: Path, most: int) -> tuple[SourceFile, bytes] | None:
    """Return the newest file that a source would read, or the member of an archive that `peek_member` finds, and at
    most `most` of its first bytes; None if there is no such file. Raises as `peek_columns`."""
    if CONNECTORS[source.connector].reads != "files":
        return None
    handler = load_file_source(source, SourceContext(folder, Claimant("", frozenset())))
    file = handler.newest_file(MOST_FILES)
    if file is None:
        return None
    with handler.store.open(file) as stream:
        found = peek_member(file, stream) if is_archive(file.name) else file
        return (found, open_member(stream, found).read(most)) if found else None


def peek_files(source: Source, folder: Path) -> tuple[SourceFile, ...] | None:
    """Return the files that a source may read; None if finding them would take long. Raises as `peek_columns`."""
    if CONNECTORS[source.connector].reads != "files":
        return None
    handler = load_file_source(source, SourceContext(folder, Claimant("", frozenset())))
    files = handler.few_files(MOST_FILES)
    if files is None:
        return None
    return tuple(member for file in files for member in handler.unpack(file, time.time()).files)


def peek_member(archive: SourceFile, stream: BinaryIO, name: str = "") -> SourceFile | None:
    """Return the member of an open ZIP archive that has this displayed name. Without a name, return the first one whose
    name ends as usual for text, or else the first one. Raises InvalidContent for an archive that cannot be read."""
    if name:
        last = name.rpartition("/")[2]
        return next((file for file in _members(archive, stream, last.__eq__) if file.name == name), None)
    usual = _members(archive, stream, lambda last: any(kind.is_usual(last) for kind in _NAMED))
    return next(iter(usual or _members(archive, stream, lambda last: True)), None)


def _members(archive: SourceFile, stream: BinaryIO, matches: Callable[[str], bool]) -> Sequence[SourceFile]:
    try:
        return members_in(archive, stream, matches).files
    except InvalidContent as error:
        if error.code == "source.no_members":
            return ()
        raise
