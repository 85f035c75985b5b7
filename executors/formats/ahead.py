"""Does work that mostly waits for a network several times at once."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from typing import TypeVar

AT_ONCE = 8
"""The number of requests of a task at once."""

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
