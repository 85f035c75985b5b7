"""Putting away what a discarded load has left: its staging, and the files that it had claimed."""

from __future__ import annotations

import time
from collections.abc import Collection
from pathlib import Path

from executors.formats.files import sha256_of
from executors.model import Connection
from executors.postgres.client import connect
from executors.postgres.staging import drop_staging, staging_tables
from executors.sources import SOURCES, load_source
from ir.nodes import Source


def drop_kept(connection: Connection, run_id: str, node: str, attempt: int) -> None:
    """Drop what an attempt has staged. Raises Failure."""
    with connect(connection, autocommit=True) as conn:
        drop_staging(conn, staging_tables(run_id, node, attempt))


def put_away_discarded(source: Source, folder: Path, units: Collection[str]) -> None:
    """Move the claimed files of these hashes to the failed ones, so that the next run does not read them again.
    Files that are read in place stay where they are. Raises Failure."""
    if source.connector not in SOURCES:
        return
    handler = load_source(source, folder)
    for file in handler.list_claimed(time.time()):
        if sha256_of(file) in units:
            handler.finish(file, succeeded=False)
