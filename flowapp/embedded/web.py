"""Store the address of this home's web process for commands that print URLs."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from flowapp.embedded.home import Home, write_atomically
from flowapp.embedded.locks import FileLock, is_held


@contextmanager
def serving(home: Home, bind: str) -> Iterator[None]:
    """Publish the address in the block, at most until this process ends."""
    files = home.service("web")
    lock = FileLock(files.owner_lock)
    if lock.take():  # a second web process of the same home has another port and is not published
        write_atomically(files.state, bind)
    try:
        yield
    finally:
        lock.release()


def served_at(home: Home) -> str | None:
    """Return the address in the form of FLOW_BIND; None if no web process of this home is running."""
    files = home.service("web")
    return files.state.read_text() if files.state.exists() and is_held(files.owner_lock) else None
