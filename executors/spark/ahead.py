"""Reads small files of stores over a network several at a time, because each of them mostly waits."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from typing import TypeVar

AT_ONCE = 8
"""The number of small files that a task reads at once."""
SMALL_BYTES = 1 << 20
AHEAD_BYTES = 4 << 20
"""The number of bytes of rows that are read ahead of each of them."""

Item = TypeVar("Item")
Result = TypeVar("Result")


def read_ahead(work: Callable[[Item], Result], items: Iterable[Item], *, most: int = AT_ONCE) -> Iterator[Result]:
    """Yield the result of `work` for each item, in order. At most `most` items are in progress or wait to be taken. The
    first error ends the iteration."""
    waiting: deque[Future[Result]] = deque()
    with ThreadPoolExecutor(most) as pool:
        try:
            for item in items:
                waiting.append(pool.submit(work, item))
                if len(waiting) == most:
                    yield waiting.popleft().result()
            while waiting:
                yield waiting.popleft().result()
        finally:
            for future in waiting:
                future.cancel()
