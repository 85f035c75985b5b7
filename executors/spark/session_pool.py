"""Sessions of a Spark Connect server: used again by the next run, and let go of without waiting for one that is gone.

The server starts Python workers anew for every session, and what it forks them from outlives the session.
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
    """The one that was kept last. The server may have closed it since, as it does with what is idle for long."""
    with suppress(IndexError):
        return _idle.pop()
    return None


def release_sessions() -> None:
    while session := take_session():
        release(session)


def release(session: SparkSession) -> None:
    """End it in the server and here; safe if it has ended."""
    session.client.set_retry_policies([])
    session.stop()


def before_pyspark_at_exit(release_all: Callable[[], None]) -> None:
    """For every new session: pyspark asks for it at exit, and asks a server that is gone for ten minutes."""
    atexit.unregister(release_all)
    atexit.register(release_all)
