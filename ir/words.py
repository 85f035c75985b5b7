"""Texts that all layers format in the same way."""

from __future__ import annotations

import re


def counted(count: int, noun: str) -> str:
    """Format a count with its noun: `1 row`, `0 rows`, `2,000 rows`."""
    return f"{count:,} {noun}" if count == 1 else f"{count:,} {noun}s"


def duration_text(seconds: float) -> str:
    """Format seconds: 0.42 as `0.4 s`, 75 as `1 min 15 s`. There are at most two units; the second one is rounded."""
    if 0 < seconds < 0.05:
        return "< 0.1 s"
    if round(seconds, 1) < 60:
        return f"{seconds:.1f} s"
    if round(seconds) < 3600:
        return "{} min {} s".format(*divmod(round(seconds), 60))
    return "{} h {} min".format(*divmod(int(seconds / 60 + 0.5), 60))


def size_text(size: int) -> str:
    """Format a number of bytes: 512 as `512 B`, 3,500,000 as `3.3 MiB`."""
    left, units = float(size), ["B", "KiB", "MiB", "GiB", "TiB"]
    while left >= 1024 and len(units) > 1:
        left /= 1024
        units.pop(0)
    return f"{left:.0f} {units[0]}" if units[0] == "B" else f"{left:.1f} {units[0]}"


_DATE_PARTS = {
    "%d": "DD",
    "%m": "MM",
    "%Y": "YYYY",
    "%y": "YY",
    "%b": "Mon",
    "%B": "Month",
    "%H": "hh",
    "%I": "hh",
    "%M": "mm",
    "%S": "ss",
    "%f": "ffffff",
    "%p": "AM/PM",
    "%z": "+hhmm",
}


def date_pattern(template: str) -> str:
    """Format a strptime template in common notation: `%d/%m/%Y` as `DD/MM/YYYY`. Other parts do not change."""
    return re.sub("%.", lambda part: _DATE_PARTS.get(part[0], part[0]), template)
