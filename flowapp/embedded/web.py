"""Where the web process of this home listens, for commands that run beside it and print addresses."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from flowapp.embedded.home import Home, write_atomically
from flowapp.embedded.locks import FileLock, is_held


@contextmanager
def serving(home: Home, bind: str) -> Iterator[None]:
    """Let others know of the address for as long as the block, or else this process, lasts."""
    files = home.service("web")
    lock = FileLock(files.owner_lock)
    if lock.take():  # a second web of the same home is on a port of its own, and is told of by whoever started it
        write_atomically(files.state, bind)
    try:
        yield
    finally:
        lock.release()


def served_at(home: Home) -> str | None:
    """The address in use, as FLOW_BIND has it; None while no web process of this home runs."""
    files = home.service("web")
    return files.state.read_text() if files.state.exists() and is_held(files.owner_lock) else None
