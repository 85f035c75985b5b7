"""Limits the work for checking one document.

Python cannot interrupt a parser from outside, so every loop over a document counts its steps here. Work in C (the JSON
and TOML readers' regexes, RE2, PostgreSQL's grammar) is limited by the size of its input, which is counted in advance.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

from ir.limits import MAX_STEPS

_STEPS_PER_LOOK = 2_000


class BudgetExceeded(Exception):
    """The work takes more steps or time than allowed."""


class Budget:
    """The remaining steps and time.

    A step takes about a microsecond. `seconds` are CPU seconds of the thread, so that a busy machine makes no
    difference; without them only steps count.
    """

    def __init__(self, seconds: float | None = None, steps: int = MAX_STEPS) -> None:
        self._steps = steps
        self._end = None if seconds is None else time.thread_time() + seconds
        self._next_look = steps

    def spend(self, steps: int) -> None:
        """Use steps. Raises BudgetExceeded."""
        self._steps -= steps
        if self._steps < self._next_look:
            self._look()

    def _look(self) -> None:
        self._next_look = self._steps - _STEPS_PER_LOOK
        if self._steps < 0 or (self._end is not None and time.thread_time() > self._end):
            raise BudgetExceeded


_current: ContextVar[Budget | None] = ContextVar("budget", default=None)


def spend(steps: int = 1) -> None:
    """Count steps of the current work, if a budget is active; raises BudgetExceeded."""
    budget = _current.get()
    if budget is not None:
        budget.spend(steps)


@contextmanager
def budget(seconds: float | None = None, steps: int = MAX_STEPS) -> Iterator[None]:
    """Limit the work in the block."""
    token = _current.set(Budget(seconds, steps))
    try:
        yield
    finally:
        _current.reset(token)
