"""Positions in the write-ahead log."""

from __future__ import annotations


def parse_lsn(text: str) -> int:
    """Return the number of a position such as `16/B374D848`. Raises ValueError."""
    high, low = text.split("/")
    return (int(high, 16) << 32) | int(low, 16)


def lsn_text(lsn: int) -> str:
    """Return the position as PostgreSQL writes it."""
    return f"{lsn >> 32:X}/{lsn & 0xFFFFFFFF:X}"
