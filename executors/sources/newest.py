"""Selects the newest files of a source, for samples and previews of nodes."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass

from executors.errors import Terminal
from executors.model import SourceFile
from executors.sources.base import ArrivedWhole, FileSource
from ir.connectors import config_of
from ir.connectors.files import FilesConfig
from ir.nodes import Source

MOST_FILES = 100
"""Opening a file takes time even if it is small."""


@dataclass(frozen=True, slots=True)
class NewestFiles:
    """Some files in the order of the source. `left_out` is the number of older files. `unread` are the names of files
    in chosen archives that are not read, with their archives."""

    files: tuple[SourceFile, ...]
    left_out: int
    unread: tuple[tuple[SourceFile, Sequence[str]], ...] = ()


def find_newest(source: Source, handler: FileSource, arrived_whole: ArrivedWhole, most_bytes: int) -> NewestFiles:
    """Return the newest files with at most `most_bytes` bytes in total, but at least one, whether or not they were
    loaded. Raises Terminal `source.no_files`, and as `FileSource.unpack`."""
    listing = handler.list_files(time.time(), arrived_whole)
    # Nothing is loaded, so a file that may still be growing is acceptable.
    found = listing.files or listing.unsettled
    if not found:
        config = config_of(source, FilesConfig)
        raise Terminal(
            "source.no_files",
            f"No file in {config.location!r} matches {config.pattern.value!r}.",
            node=source.id,
            hint="Put a file there or upload one. Archived files are not searched.",
        )
    chosen = _newest(found, most_bytes)
    found_in = [(file, handler.unpack(file, time.time())) for file in chosen]
    unpacked = [member for _, members in found_in for member in members.files]
    unread = tuple((file, members.others) for file, members in found_in if members.others)
    files = tuple(file.at(seq) for seq, file in enumerate(_newest(unpacked, most_bytes)))
    return NewestFiles(files, len(found) - len(chosen) + len(unpacked) - len(files), unread)


def _newest(files: Sequence[SourceFile], most_bytes: int) -> list[SourceFile]:
    return [files[place] for place in sorted(_places_of_newest(files, most_bytes))]


def _places_of_newest(files: Sequence[SourceFile], most_bytes: int) -> list[int]:
    places: list[int] = []
    size = 0
    for place in sorted(range(len(files)), key=lambda place: -files[place].mtime_ns)[:MOST_FILES]:
        size += files[place].size
        if places and size > most_bytes:
            break
        places.append(place)
    return places
