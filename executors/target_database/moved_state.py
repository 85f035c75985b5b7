"""State of a pipeline in a target database, moved between installations."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Any

from executors.model import Connection
from executors.postgres import moved_state
from executors.postgres.meta import create_meta, ensure_meta
from executors.postgres.moved_state import WrittenState
from executors.target_database.session import open_session


@contextmanager
def read_moved_state(
    connection: Connection, tenant: str, pipeline: str
) -> Iterator[tuple[Iterable[dict[str, Any]], list[dict[str, Any]]]]:
    """Yield load records, fetched in batches, and watermarks. Raises Failure."""
    with open_session(connection) as session:
        if moved_state.has_meta(session):
            watermarks = moved_state.read_watermarks(session, tenant, pipeline)
            yield moved_state.read_commits(session, tenant, pipeline), watermarks
        else:
            yield (), []


class _DryRun(Exception):
    """Rolls back the writes of a dry run."""


def write_moved_state(
    connection: Connection,
    *,
    before: str,
    tenant: str,
    pipeline: str,
    commits: Iterable[dict[str, Any]],
    watermarks: Iterable[dict[str, Any]],
    dry_run: bool,
) -> WrittenState:
    """Write the state that the database lacks, in one transaction. `before` is the workspace's UUID in the exporting
    installation. Repeating it changes nothing. Raises Failure."""
    written = WrittenState()
    with open_session(connection) as session:
        if not dry_run:
            ensure_meta(session)
        try:
            with session.transaction():
                if dry_run:
                    create_meta(session)
                written.adopted = moved_state.adopt(session, before, tenant, pipeline)
                moved_state.write_commits(session, tenant, pipeline, commits, written)
                for watermark in watermarks:
                    moved_state.write_watermark(session, tenant, pipeline, watermark, written)
                if dry_run:
                    raise _DryRun
        except _DryRun:
            pass
    return written
