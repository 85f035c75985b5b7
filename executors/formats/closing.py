"""Batches that hold a resource open while they are read: a file, or a session in its transaction."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TypeVar

T = TypeVar("T")


@contextmanager
def closed_after(batches: Iterator[T]) -> Iterator[Iterator[T]]:
    """Batches whose reader is closed when their taker is done with them, above all when it fails.

    Left alone, a reader lives on as long as the error that holds its taker's frames, and with it its session and the
    locks of its transaction.
    """
    try:
        yield batches
    finally:
        if close := getattr(batches, "close", None):
            close()
