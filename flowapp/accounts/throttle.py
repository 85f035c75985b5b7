"""Slows down guessing of passwords: a few wrong ones per address and per person, then a pause."""

from __future__ import annotations

import hashlib

from django.core.cache import cache

from ir.errors import FlowError

MOST_FAILURES = 10
PAUSE_SECONDS = 15 * 60


class TooManyFailures(FlowError):
    def __init__(self) -> None:
        super().__init__(
            "login.throttled",
            "There were too many wrong passwords.",
            hint="Wait 15 minutes, or sign in by a one-time link: `flow user link EMAIL`.",
        )


def check_throttle(*sources: str) -> None:
    """Raises TooManyFailures once one of the sources (a person, a network address) has failed too often."""
    if any(cache.get(_key(source), 0) >= MOST_FAILURES for source in sources):
        raise TooManyFailures


def count_failure(*sources: str) -> None:
    for source in sources:
        cache.add(_key(source), 0, PAUSE_SECONDS)
        cache.incr(_key(source))


def _key(source: str) -> str:
    return "login-failures:" + hashlib.sha256(source.lower().encode()).hexdigest()
