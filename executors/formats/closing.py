"""Closes batches that hold a resource while they are read: a file, or a session in its transaction."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TypeVar

T = TypeVar("T")


@contextmanager
def closed_after(batches: Iterator[T]) -> Iterator[Iterator[T]]:
    """Close the reader of the batches at the end of the block, also after an error.

    Otherwise the traceback of the error keeps the reader alive, and with it its session and the locks of its
    transaction.
    """
    try:
        yield batches
    finally:
        if close := getattr(batches, "close", None):
            close()
