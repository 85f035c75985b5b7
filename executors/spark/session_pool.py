"""Idle sessions of a Spark Connect server, which later runs reuse. Releasing a session does not wait for a server that
is down.

The server starts new Python workers for every session, and the process that forks them outlives the session.
"""

from __future__ import annotations

import atexit
from collections.abc import Callable
from contextlib import suppress

from pyspark.sql import SparkSession

_idle: list[SparkSession] = []


def return_session(session: SparkSession) -> None:
    _idle.append(session)


def take_session() -> SparkSession | None:
    """Return the session that was returned last, or None. The server may have closed it, as it closes all sessions that
    are idle for long."""
    with suppress(IndexError):
        return _idle.pop()
    return None


def release_sessions() -> None:
    while session := take_session():
        release(session)


def release(session: SparkSession) -> None:
    """End a session on the server and here. Does nothing if it has ended."""
    session.client.set_retry_policies([])
    session.stop()


def before_pyspark_at_exit(release_all: Callable[[], None]) -> None:
    """Register `release_all` to run at exit before the handler of pyspark. Call it for every new session, because
    pyspark registers a handler for each; that handler waits ten minutes for a server that is down."""
    atexit.unregister(release_all)
    atexit.register(release_all)
