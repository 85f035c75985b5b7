"""Durations in the form of documents: `30s`, `15m`, `24h`, `7d`, `2w`."""

from __future__ import annotations

import re
from datetime import timedelta

_UNITS = {"s": "seconds", "m": "minutes", "h": "hours", "d": "days", "w": "weeks"}
_DURATION = re.compile(r"([1-9][0-9]{0,6})([smhdw])")


def parse_duration(text: str) -> timedelta:
    """Parse a duration such as `15m`; raises ValueError. Durations are positive."""
    match = _DURATION.fullmatch(text)
    if match is None:
        raise ValueError(f"{text!r} is not a duration such as 15m, 24h or 1d")
    return timedelta(**{_UNITS[match[2]]: int(match[1])})
