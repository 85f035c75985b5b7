"""Archives the files that a discarded load had claimed."""

from __future__ import annotations

import time
from collections.abc import Collection
from pathlib import Path
from typing import NamedTuple

from executors.errors import InvalidContent
from executors.model import SourceFile, StoreConnection
from executors.sources import load_file_source
from executors.sources.base import Claimant, FileSource, SourceContext
from ir.connectors import CONNECTORS
from ir.nodes import Source
from ir.pipeline import Pipeline


class ClaimedFile(NamedTuple):
    """A claimed file with its metadata at the time of hashing. Nothing writes to claimed files, so name, size and time
    identify the file without hashing it again while the user waits."""

    name: str
    size: int
    mtime_ns: int


def archive_discarded(
    pipeline: Pipeline,
    tenant: str,
    source: Source,
    folder: Path,
    store: StoreConnection | None,
    files: Collection[ClaimedFile],
) -> None:
    """Move these claimed files to the folder of failed files, so that the next run does not read them again. Files that
    are read in place are not moved. `store` is the store of the source, if it has one, `tenant` the UUID of the
    workspace. Raises Failure."""
    if CONNECTORS[source.connector].reads != "files":
        return
    handler = load_file_source(source, SourceContext(folder, Claimant.of(pipeline, tenant), store=store))
    now = time.time()
    for file in handler.list_claimed(now):
        found = {ClaimedFile(part.name, part.size, part.mtime_ns) for part in _parts(handler, file, now)}
        if not found.isdisjoint(files):
            handler.archive(file, succeeded=False)


def _parts(handler: FileSource, file: SourceFile, now: float) -> tuple[SourceFile, ...]:
    """Return what was staged of a file: nothing of an archive that cannot be read."""
    try:
        return handler.unpack(file, now).files
    except InvalidContent:
        return ()
