"""Small words that all layers say alike."""

from __future__ import annotations


def counted(count: int, noun: str) -> str:
    """`1 row`, `0 rows`, `2,000 rows`."""
    return f"{count:,} {noun}" if count == 1 else f"{count:,} {noun}s"
