"""Sessions on a target database, for callers that do not run a pipeline."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from executors.model import Connection
from executors.postgres.client import Session, connect, translate

CONNECT_SECONDS = 10


@contextmanager
def open_session(
    connection: Connection, *, node: str | None = None, timeout: int = CONNECT_SECONDS
) -> Iterator[Session]:
    """Open a session without a transaction. Errors are raised as Failure of `node`. `timeout` is in seconds, for each
    address of the host."""
    with translate(node), connect(connection, autocommit=True, timeout=timeout) as session:
        yield session
