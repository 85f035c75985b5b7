"""Split long lists into batches that fit into one query."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import islice
from typing import TypeVar

T = TypeVar("T")
AT_ONCE = 500


def in_batches(values: Iterable[T], size: int = AT_ONCE) -> Iterator[list[T]]:
    iterator = iter(values)
    while batch := list(islice(iterator, size)):
        yield batch
