"""Interrupts the work of an attempt from another thread."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress

from executors.errors import Failure


class Interrupts:
    """A list of calls, each of which ends one piece of work: a Spark job, a query, a hook."""

    def __init__(self) -> None:
        self._calls: list[Callable[[], None]] = []

    def add(self, call: Callable[[], None]) -> None:
        self._calls.append(call)

    def interrupt(self) -> None:
        """Interrupt all work. Errors are ignored: work that cannot be reached has already ended."""
        for call in tuple(self._calls):
            with suppress(Failure):
                call()
