"""Archiving the files that a discarded load had claimed."""

from __future__ import annotations

import time
from collections.abc import Collection
from pathlib import Path
from typing import NamedTuple

from executors.model import Connection
from executors.sources import load_file_source
from executors.sources.base import Claimant, SourceContext
from ir.connectors import CONNECTORS
from ir.nodes import Source
from ir.pipeline import Pipeline


class ClaimedFile(NamedTuple):
    """A claimed file as it was when it was hashed. Nobody writes to claimed files, so that this tells which one it is,
    at no cost: whoever discards a load waits for it."""

    name: str
    size: int
    mtime_ns: int


def archive_discarded(
    pipeline: Pipeline, source: Source, folder: Path, connection: Connection | None, files: Collection[ClaimedFile]
) -> None:
    """Move these claimed files to the failed ones, so that the next run does not read them again. Files that are read
    in place stay where they are. `connection` is the one that the source names. Raises Failure."""
    if CONNECTORS[source.connector].reads != "files":
        return
    handler = load_file_source(source, SourceContext(folder, Claimant.of(pipeline), connection))
    for file in handler.list_claimed(time.time()):
        if ClaimedFile(file.name, file.size, file.mtime_ns) in files:
            handler.archive(file, succeeded=False)
